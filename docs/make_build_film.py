"""Film how a finger is built in the browser, for docs/build_in_browser.md: python docs/make_build_film.py

Needs the extras `live`, `film` and `test`, chromium and chromedriver. It does what tests/interactive/test_film.py does:
the gestures are those of tests/helpers/build_finger.py. Software draws slowly, so the film has a clock of its own.
"""

import argparse
import base64
import io
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import sorosim
from sorosim.view.viz.movie import _write_mp4

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]
from helpers.browser import browser  # noqa: E402
from helpers.build_finger import SIZE, Builder, build  # noqa: E402

FPS, BAR = 10, 72  # pictures per second; pixels below the page, in which there are the words
WIDTH, HEIGHT = SIZE[0], SIZE[1] + BAR
PAPER, INK, RING = (27, 32, 41), (255, 255, 255), (230, 120, 0)
WAY, PRESS = 0.5, 0.3  # s in which the pointer goes to its next place, and presses
ARROW = np.array([(0, 0), (0, 20), (4.6, 15.8), (8, 23.4), (11.2, 22), (7.8, 14.6), (14, 14.2)])  # the pointer
TITLE = ("A soft finger from nothing", "sorosim live finger.yaml --edit", "by clicks and keys, in about two minutes")
END = (
    "finger.yaml is written",
    "sorosim statics finger.yaml",
    "its text, and what to try next, are on the page of this film",
)
POSTER = "A round number"  # with what the words of the picture begin that stands for the film


def font(size: int, bold: bool = False) -> Any:
    """DejaVu Sans, which comes with matplotlib."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), size)


class Film:
    """Watches, and keeps pictures: each with the pointer, how far it presses, and the words of then."""

    films = True

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self.shots: list[tuple[bytes, tuple[float, float], float, str, int]] = []  # with how many pictures of the film
        self._picture, self._words, self._at = b"", "", (SIZE[0] / 2, SIZE[1] / 2)
        self._debt = 0.0  # s that the film is behind its clock

    def say(self, words: str) -> None:
        """What is done now."""
        self._words = words

    def point(self, x: float, y: float, press: bool = True) -> None:
        """The pointer goes there, and presses."""
        begin, end = np.array(self._at), np.array([x, y])
        self._at = (float(x), float(y))
        if not press:
            return
        if not self._picture:
            self._take()
        if np.linalg.norm(end - begin) > 8.0:
            for s in np.linspace(0.0, 1.0, round(WAY * FPS) + 1)[1:]:
                x, y = begin + s * s * (3.0 - 2.0 * s) * (end - begin)
                self._keep((float(x), float(y)), 0.0, 1)
        for s in np.linspace(0.0, 1.0, round(PRESS * FPS) + 1)[1:]:
            self._keep(self._at, float(s), 1)

    def look(self, seconds: float, settle: float = 1.0) -> None:
        """The page, as it is after a while, for some seconds."""
        time.sleep(settle)
        self._take()
        self._debt += seconds * FPS
        count = round(self._debt)
        self._debt -= count
        if count > 0:
            self._keep(self._at, 0.0, count)

    def _take(self) -> None:
        found = self._driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        self._picture = base64.b64decode(found["data"])

    def _keep(self, at: tuple[float, float], pressed: float, count: int) -> None:
        self.shots.append((self._picture, at, pressed, self._words, count))

    def images(self) -> Iterator[np.ndarray]:
        """All pictures of the film."""
        yield from [np.asarray(card(*TITLE))] * (4 * FPS)
        for *shot, count in self.shots:
            yield from [np.asarray(drawn(*shot))] * count
        yield from [np.asarray(card(*END))] * (4 * FPS)

    def poster(self) -> Image.Image:
        """A picture that stands for it."""
        *shot, _ = [one for one in self.shots if one[3].startswith(POSTER)][-1]
        image = drawn(*shot).convert("RGB")
        pen = ImageDraw.Draw(image, "RGBA")
        x, y, r = WIDTH / 2, HEIGHT / 2, 60
        pen.ellipse((x - r, y - r, x + r, y + r), fill=(*PAPER, 210))
        pen.polygon([(x - 20, y - 32), (x - 20, y + 32), (x + 36, y)], fill=INK)
        return image


def drawn(picture: bytes, at: tuple[float, float], pressed: float, words: str) -> Image.Image:
    """The page with the pointer, and the words below it."""
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    image.paste(Image.open(io.BytesIO(picture)).convert("RGB"), (0, 0))
    pen = ImageDraw.Draw(image, "RGBA")
    x, y = at
    if pressed:
        r = 10.0 + 16.0 * pressed
        pen.ellipse((x - r, y - r, x + r, y + r), outline=RING, width=4)
    pen.polygon([(x + dx, y + dy) for dx, dy in ARROW], fill=(0, 0, 0), outline=(255, 255, 255))
    pen.rectangle((0, SIZE[1], WIDTH, HEIGHT), fill=PAPER)
    size = 25
    while pen.textlength(words, font(size)) > WIDTH - 40:
        size -= 1
    pen.text((20, SIZE[1] + BAR / 2), words, INK, font(size), anchor="lm")
    return image


def card(*lines: str) -> Image.Image:
    """A page of words."""
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(image)
    for text, y, size, bold in zip(lines, (300, 390, 470), (54, 34, 28), (True, False, False), strict=True):
        pen.text((WIDTH / 2, y), text, INK, font(size, bold), anchor="mm")
    return image


def main() -> None:
    """Build the finger, and write what was seen."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--to", type=Path, default=ROOT / "docs" / "images")
    folder = options.parse_args().to
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "finger.yaml"
        with sorosim.live(path, port=0, block=False, edit=True) as live, browser() as driver:
            film = Film(driver)
            try:
                build(Builder(driver, live, film))
            finally:  # where it fails, the film shows how far it came
                _write_mp4(folder / "build_a_finger.mp4", film.images(), FPS, (WIDTH, HEIGHT))
            film.poster().convert("P", palette=Image.Palette.ADAPTIVE).save(
                folder / "build_a_finger.png", optimize=True
            )
        print(path.read_text(encoding="utf-8"))
    print(f"{sum(count for *_, count in film.shots) / FPS + 8:.0f} s")


if __name__ == "__main__":
    main()
