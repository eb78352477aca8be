"""Write docs/reference.md, the API in brief as plain markdown: python docs/make_reference.py

Sections and names are those of docs/api.rst, what is said of them is from their docstrings; tests/test_documents.py
compares.
"""

import dataclasses
import inspect
import pydoc
import re
from pathlib import Path
from typing import Any

from sorosim.base.declare import Declared
from sorosim.base.declare.result import Result
from sorosim.base.registry import LazyMethod

DOCS = Path(__file__).resolve().parent
PAGE, SOURCE = DOCS / "reference.md", DOCS / "api.rst"
OPTIONAL = ("sorosim.torch", "sorosim.jax")  # extras that may not be there
HEAD = """\
<!-- written by `python docs/make_reference.py`; do not edit -->
# Reference in brief

Names, arguments and results with their units, a line each; all of it is in the docstrings: `help(sorosim.simulate)`.
Frames, letters and shapes are those of the [conventions](conventions.md). A number is in
SI units, a text may have a unit: `"2 s"`.
Every argument is checked: a wrong length, name or value raises one of the [errors](errors.md).
"""
UNIT = re.compile(r"\[[^\[\]]+\]\.?$")


def sentence(text: str) -> str:
    """The first sentence of a text, on one line, and the unit that its end may tell."""
    text = " ".join(text.split())
    first = re.split(r"(?<=[.;])\s+(?=[A-Z`\"\[(])", text, maxsplit=1)[0].rstrip(";")
    unit = UNIT.search(text)
    return first if unit is None or unit[0] in first else f"{first} {unit[0]}"


def plain(text: str) -> str:
    """Markup of docstrings as markdown."""
    text = re.sub(r":doc:`(?:(.+?) <)?([\w/]+)>?`", lambda m: f"[{m[1] or m[2]}]({m[2]}.md)", text)
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    return re.sub(r"\]\(gallery/\w+\.md\)", "](gallery/index.rst)", text)


def arguments(called: Any, bound: bool = False) -> str:
    """The arguments of something that is called, with defaults, without types."""
    if dataclasses.is_dataclass(called):  # a base class may choose the class in `__new__`
        called, bound = called.__init__, True
    try:
        parameters = list(inspect.signature(called).parameters.values())[bound:]
    except (TypeError, ValueError):
        return "()"
    bare = [one.replace(annotation=inspect.Parameter.empty, default=_short(one.default)) for one in parameters]
    return str(inspect.Signature([one for one in bare if not one.name.startswith("_") and one.name != "kind_"]))


class _Default:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _short(default: Any) -> Any:
    """A default as it can be written; longer ones are left to the docstring."""
    simple = default is None or default is inspect.Parameter.empty or isinstance(default, bool | int | float | str)
    empty = isinstance(default, tuple) and repr(default).count(",") < 4 and "\n" not in repr(default)
    return default if simple or (empty and "object at" not in repr(default)) else _Default("...")


def parameters(docstring: str, title: str = "Parameters") -> list[tuple[str, str, str]]:
    """Name, type and meaning of each entry of a section of a docstring in NumPy's style."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    entries = re.split(r"^(?=\S)", found[1], flags=re.MULTILINE) if found else []
    rows = []
    for entry in filter(str.strip, entries):
        head, _, text = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        rows.append((name.strip(), kind.strip(), text))
    return rows


def listed(docstring: str) -> list[str]:
    """Parameters and results of a docstring, a line each."""
    lines = [f"- `{name}` ({kind}): {sentence(text)}" if kind else f"- `{name}`: {sentence(text)}"
             for name, kind, text in parameters(docstring)]  # fmt: skip
    results = parameters(docstring, "Returns")
    told = ["; ".join(filter(None, [f"`{name}`" + (f" ({kind})" if kind else ""), sentence(text)]))
            for name, kind, text in results]  # fmt: skip
    return [line.rstrip(": ") for line in lines] + [f"- gives {one}" for one in told]


def fields(cls: type) -> list[str]:
    """Fields of a record with what their comments say of shapes and units; those of declared parts have a page."""
    if issubclass(cls, Declared) or not (dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")):
        return []
    source = inspect.getsource(cls).partition("    def ")[0]
    found = dict(re.findall(r"^    (?!also:)([A-Za-z]\w*): [^#\n]*?(?:  # (.*))?$", source, re.MULTILINE))
    if dataclasses.is_dataclass(cls):  # results declare theirs
        own = {one.name: one.metadata.get("stored") for one in dataclasses.fields(cls)}
        found |= {name: str(one) for name, one in own.items() if one and name in found}
    return [f"- `{name}`: {told}" if told else f"- `{name}`" for name, told in found.items()]


def members(cls: type, wanted: str | None, inherited: bool) -> list[str]:
    """Methods and properties of a class, a line each."""
    names = [name.strip() for name in wanted.split(",")] if wanted else _own(cls, inherited)
    lines = []
    for name in names:
        own = inspect.getattr_static(cls, name, None)
        told = inspect.getdoc(getattr(cls, name, None)) if own is not None else None
        if told is None or _is_field(cls, name):
            continue
        is_method = isinstance(own, classmethod | staticmethod | LazyMethod) or inspect.isfunction(own)
        call = arguments(getattr(cls, name), not isinstance(own, classmethod | staticmethod)) if is_method else ""
        lines.append(f"- `.{name}{call}`: {sentence(told.partition(chr(10) * 2)[0])}")
    return lines


def _own(cls: type, inherited: bool) -> list[str]:
    classes = [one for one in cls.__mro__ if one.__module__.startswith("sorosim")] if inherited else [cls]
    names = dict.fromkeys(name for one in classes for name in vars(one) if not name.startswith("_"))
    return [name for name in names if name not in vars(Result) or name == "save"]  # the rest is for kinds of results


def _is_field(cls: type, name: str) -> bool:
    return dataclasses.is_dataclass(cls) and name in cls.__dataclass_fields__


def entry(kind: str, name: str, options: dict[str, str]) -> list[str]:
    """What the page says of a function, a class or an error."""
    found: Any = pydoc.locate(name)
    told = inspect.getdoc(found) or ""
    about = sentence(told.partition("\n\n")[0])
    call = "" if kind == "exception" else arguments(found)
    rows = listed(told)
    if kind == "class":
        rows += [] if rows else fields(found)
        if "members" in options:
            rows += members(found, options["members"] or None, "inherited-members" in options)
    if not rows:
        return [f"- `{name}{call}`: {about}"]
    return ["", f"### {name}", "", f"`{name.rpartition('.')[2]}{call}`", "", about, "", *rows, ""]


def reference() -> str:
    """The page."""
    out, module, text = [HEAD], "sorosim", SOURCE.read_text(encoding="utf-8")
    body = text[re.search(r"^.+\n---", text, re.MULTILINE).start() :]
    parts = re.split(r"^\.\. ([\w-]+):: (\S+)\n((?:   :[^\n]*\n)*)", body, flags=re.MULTILINE)
    out.append(_prose(parts[0]))
    for directive, name, options, prose in zip(*(parts[k::4] for k in range(1, 5)), strict=True):
        if directive == "currentmodule":
            module = name
            continue
        given = dict(re.findall(r"   :([\w-]+): ?(.*)", options))
        if directive == "automodule" and not name.startswith(OPTIONAL):
            for function in filter(None, given.get("members", "").split(", ")):
                out += entry("function", f"{name}.{function}", {})
        elif not name.startswith(OPTIONAL):
            found = name if pydoc.locate(name) is not None else f"{module}.{name}"
            out += entry(directive.removeprefix("auto"), found, given)
        out += ["", _prose(prose).strip(), ""] if prose.strip() else []
    lines = re.sub(r"^(\.\. .*\n)+", "", "\n".join(out), flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", plain(lines)).rstrip() + "\n"


def _prose(text: str) -> str:
    """Text between the names; its titles become those of the page."""
    return re.sub(r"^(.+)\n-+$", r"## \1", text, flags=re.MULTILINE)


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
