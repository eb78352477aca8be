"""Annotations of a scene: texts such as heading and clock, a legend, a scalar bar."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sorosim.viz.options import UNITS

INK = "#30343a"
SQUARE = "\u25a0"
# place (parts of the picture), size (points in a picture 720 pixels high), horizontal and vertical justification
PLACES: dict[str, tuple[float, float, float, str, str]] = {
    "heading": (0.02, 0.965, 21.0, "left", "top"),
    "clock": (0.02, 0.915, 18.0, "left", "top"),
    "status": (0.02, 0.870, 15.0, "left", "top"),
    "grid": (0.98, 0.025, 15.0, "right", "bottom"),
    "scale": (0.98, 0.06, 15.0, "right", "bottom"),
    "note": (0.5, 0.025, 15.0, "center", "bottom"),
    "help": (0.035, 0.80, 15.0, "left", "top"),
}


def in_font(text: Any, name: str = "DejaVuSans") -> Any:
    """Set a text property in the letters that come with matplotlib, which know more signs than VTK's; returns it."""
    found = importlib.util.find_spec("matplotlib")
    if found is not None and found.origin is not None:
        text.SetFontFamily(4)  # VTK_FONT_FILE
        text.SetFontFile(str(Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / f"{name}.ttf"))
    return text


class Annotations:
    """Texts of a scene by the names of `PLACES`, all empty at first."""

    def __init__(self, plotter: Any) -> None:
        self._texts: dict[str, Any] = {}
        for name, (x, y, _, across, up) in PLACES.items():
            actor = plotter.add_text("", position=(x, y), viewport=True, color=INK)
            in_font(actor.prop, "DejaVuSansMono" if name == "help" else "DejaVuSans")
            actor.prop.justification_horizontal, actor.prop.justification_vertical = across, up
            self._texts[name] = actor
        frame = self._texts["help"].prop
        frame.SetBackgroundColor(1.0, 1.0, 1.0)
        frame.SetBackgroundOpacity(0.88)
        frame.SetLineSpacing(1.15)

    def write(self, name: str, words: str) -> None:
        """Write a text."""
        self._texts[name].input = words

    def move_to(self, name: str, y: float) -> None:
        """Move a text to another height, as a part of the picture."""
        self._texts[name].position = (PLACES[name][0], y)

    def text(self, name: str) -> str:
        """The present text."""
        return str(self._texts[name].input)

    def scale(self, factor: float) -> None:
        """Set the sizes of the letters, 1 in a picture 720 pixels high."""
        for name, (_, _, points, _, _) in PLACES.items():
            self._texts[name].prop.font_size = round(points * factor)


class Legend:
    """Names beside squares of their colours, at the right of a scene."""

    def __init__(self, plotter: Any, entries: Sequence[tuple[str, str]]) -> None:
        self._plotter, self._rows = plotter, []
        for name, colour in entries:
            row = []
            for words, ink in ((name, INK), (SQUARE, colour)):
                actor = plotter.add_text(words, position=(0.98, 0.5), viewport=True, color=ink)
                in_font(actor.prop)
                actor.prop.justification_horizontal, actor.prop.justification_vertical = "right", "top"
                row.append(actor)
            self._rows.append(row)

    def scale(self, factor: float, size: Sequence[int]) -> None:
        """Set the sizes of the letters, 1 in a picture 720 pixels high, in a window of a size [pixels]."""
        letters = 17.0 * factor
        for k, row in enumerate(self._rows):
            for actor, x in zip(row, (0.98 - 1.5 * letters / size[0], 0.98), strict=True):
                actor.prop.font_size = round(letters)
                actor.position = (x, 0.965 - 0.045 * k)

    def remove(self) -> None:
        """Take it out of the scene."""
        for row in self._rows:
            for actor in row:
                self._plotter.remove_actor(actor, render=False)


def narrowness(size: Sequence[int]) -> float:
    """How many times the part of a window of a size is that letters need at its side, 1 in one of 16 to 9."""
    return min(16.0 / 9.0 * size[1] / size[0], 3.0)


class ScalarBar:
    """The colours of a quantity beside their numbers, with its unit."""

    def __init__(self, plotter: Any, mapper: Any, quantity: str, labels: int) -> None:
        place = {"position_x": 0.89, "position_y": 0.3, "width": 0.06, "height": 0.42}
        style = {"vertical": True, "fmt": "%.4g", "color": INK, "n_labels": labels}
        self.title = f"{quantity.replace('_', ' ')} [{UNITS[quantity]}]"
        self._plotter = plotter
        self._actor = plotter.add_scalar_bar(title=f"{self.title}\n", mapper=mapper, **place, **style)
        self._actor.SetTextPad(6)
        in_font(self._actor.GetTitleTextProperty())
        in_font(self._actor.GetLabelTextProperty())

    def scale(self, factor: float, size: Sequence[int]) -> None:
        """Set the sizes of the letters, 1 in a picture 720 pixels high, in a window of a size [pixels]."""
        part = narrowness(size)
        self._actor.SetPosition(1.0 - 0.11 * part, 0.3)
        self._actor.SetWidth(0.06 * part)
        self._actor.GetTitleTextProperty().SetFontSize(round(16.0 * factor))
        self._actor.GetLabelTextProperty().SetFontSize(round(16.0 * factor))

    def remove(self) -> None:
        """Take it out of the scene."""
        self._plotter.remove_scalar_bar(f"{self.title}\n", render=False)
