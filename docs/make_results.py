"""Write what is in result files into docs/results.md anew: python docs/make_results.py

The tables are those of the declarations of results (`sorosim.base.declare.result`); tests/test_documents.py compares.
"""

from collections.abc import Mapping
from pathlib import Path

from sorosim.base.declare.result import StoredField
from sorosim.base.registry import RESULTS
from sorosim.files.results import ROBOT

PAGE = Path(__file__).resolve().parent / "results.md"
BEGIN, END = "<!-- written by `python docs/make_results.py` -->\n", "<!-- until here -->\n"
HEAD = "| name | shape | what |\n|---|---|---|\n"


def shape_of(one: StoredField) -> str:
    """What it is in a file: a group, or the shape of a dataset, without one for single numbers and texts."""
    return "group" if one.type.is_group else " x ".join("any" if size is ... else str(size) for size in one.type.shape)


def table(declaration: Mapping[str, StoredField]) -> str:
    """A line for each thing that a file keeps."""
    rows = []
    for name, one in declaration.items():
        unit = f" [{one.unit}]" if one.unit else ""
        rows.append(f"| `{one.name or name}` | {shape_of(one)} | {one.doc}{unit} |\n")
    return HEAD + "".join(rows)


def with_tables(page: str) -> str:
    """The page with its tables written anew."""
    parts = ["\nOf every result:\n\n", table(ROBOT)]
    for kind, result in ((kind, RESULTS.get(kind)) for kind in RESULTS.known()):
        if result.__module__.startswith("sorosim."):  # not those that a program has registered
            parts += [f"\nOf kind `{kind}`:\n\n", table(result.declaration())]
    return page[: page.index(BEGIN)] + BEGIN + "".join(parts) + "\n" + page[page.index(END) :]


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
