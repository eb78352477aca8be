"""Pictures of the gallery: the matplotlib figures that an example holds in its names, and the files that it wrote."""

import shutil
from pathlib import Path
from typing import Any


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Write figures and move files that are new since the block before; see sphinx-gallery, custom scrapers."""
    from matplotlib.figure import Figure
    from sphinx_gallery.scrapers import figure_rst

    written = []
    for figure in list(block_vars["example_globals"].values()):
        if isinstance(figure, Figure) and not hasattr(figure, "in_gallery"):
            figure.in_gallery = True  # type: ignore[attr-defined]
            path = next(block_vars["image_path_iterator"])
            figure.savefig(path, dpi=110)
            written.append(path)
    for drawn in sorted(Path.cwd().glob("*.png"), key=lambda file: file.stat().st_mtime_ns):
        path = next(block_vars["image_path_iterator"])
        shutil.move(drawn, path)
        written.append(path)
    return str(figure_rst(written, gallery_conf["src_dir"]))
