"""Drawing methods that an equilibrium and a run share: pictures, windows, files for other programs to draw.

Functions import `sorosim.viz` when they are called, so that computing does not load it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Drawable:
    """Methods that draw an equilibrium or a run."""

    def still(self, path: str | Path, **options: Any) -> None:
        """Picture in 3D, of a run at one time or several; see `sorosim.viz.movie.still`."""
        from sorosim.viz.movie import still

        still(self, path, **options)

    def play(self, **options: Any) -> None:
        """Window in 3D; see `sorosim.viz.player.play`."""
        from sorosim.viz.player import play

        play(self, **options)

    def export_html(self, path: str | Path, **options: Any) -> None:
        """One file that any browser shows in 3D, without a server; see `sorosim.viz.web.export_html`."""
        from sorosim.viz.web import export_html

        export_html(self, path, **options)

    def export_gltf(self, path: str | Path, **options: Any) -> None:
        """glTF 2.0 file (.glb) for Blender and other programs; see `sorosim.viz.gltf.export_gltf`."""
        from sorosim.viz.gltf import export_gltf

        export_gltf(self, path, **options)
