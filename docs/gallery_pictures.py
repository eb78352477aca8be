"""Pictures of the gallery: figures of matplotlib that an example holds by names, also in a dict, and files it wrote."""

import shutil
import time
from pathlib import Path
from typing import Any

_begun = [0]  # when the present example began [ns]


def begin(_conf: dict[str, Any], _example: Any) -> None:
    """Take down when an example begins; see sphinx-gallery, resetting modules."""
    _begun[0] = time.time_ns()


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Put figures and files that are new since the block before into the page; see sphinx-gallery, custom scrapers."""
    from sphinx_gallery.scrapers import figure_rst

    return str(figure_rst(gathered(block_vars), gallery_conf["src_dir"]))


def gathered(block_vars: dict[str, Any]) -> list[Path]:
    """Write figures and move files that are new.

    Files from before the example were left by one that failed or was stopped, and belong to none.
    """
    from matplotlib.figure import Figure

    written = []
    values = list(block_vars["example_globals"].values())
    values += [one for value in values if isinstance(value, dict) for one in value.values()]  # as run.plot returns them
    for figure in values:
        if isinstance(figure, Figure) and not hasattr(figure, "in_gallery"):
            figure.in_gallery = True  # type: ignore[attr-defined]
            path = next(block_vars["image_path_iterator"])
            figure.savefig(path, dpi=110)
            written.append(path)
    times = {drawn: drawn.stat().st_mtime_ns for drawn in Path.cwd().glob("*.png")}
    for drawn in sorted((drawn for drawn, when in times.items() if when >= _begun[0]), key=times.__getitem__):
        path = next(block_vars["image_path_iterator"])
        shutil.move(drawn, path)
        written.append(path)
    return written
