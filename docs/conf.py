"""Configuration of Sphinx; `make docs` builds the pages."""

import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]
os.environ.setdefault("PYVISTA_OFF_SCREEN", "true")

import sorosim  # noqa: E402

project = "sorosim"
author = "The sorosim developers"
project_copyright = author
version = release = sorosim.__version__

extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_design", "sphinx_gallery.gen_gallery",
]  # fmt: skip
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.json"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# the reference is written in RST, where autodoc lives; the pages in Markdown
default_role = "py:obj"  # `simulate` in a docstring is a link where there is something to link to
suppress_warnings = ["ref.python"]  # q is an attribute of several classes
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"sorosim {release}"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
pygments_style = "friendly"

autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch", "jax", "gymnasium", "viser"]  # extras that the reference does without
autodoc_typehints = "none"  # docstrings say types in the words of the field
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_preprocess_types = False
napoleon_attr_annotations = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("gallery_pictures.scrape",),
    "reset_modules": ("gallery_pictures.begin",),
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "ExampleTitleSortKey",
    "write_computation_times": False,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
}


def complete(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Link the theory; put the comments behind the fields of a result into its docstring, before napoleon reads it."""
    lines[:] = [line.replace("docs/theory.md", ":doc:`docs/theory.md </theory>`") for line in lines]
    if what != "class" or any(line.strip() == "Parameters" for line in lines):
        return
    fields = re.findall(r"^    (\w+): [^#\n]*  # (.+)$", inspect.getsource(obj), re.MULTILINE)
    if fields:
        lines += ["", "Attributes", "----------"]
        for field, comment in fields:
            lines += [field, f"    {comment[0].upper()}{comment[1:]}"]
        lines += [""]


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", complete, priority=400)
