"""A run in a window."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from sorosim.door import positive
from sorosim.viz.scene import INK, Scene
from sorosim.viz.target import run_times, sample

PERIOD = 30  # between two pictures [ms]


class Player:
    """A run in a window: a slider over time, the space bar to play and to pause."""

    def __init__(
        self, run: Any, *, speed: float = 1.0, view: str = "iso", size: Sequence[int] = (1280, 720),
        off_screen: bool = False, **look: Any,
    ) -> None:  # fmt: skip
        self.run, self.speed, self.times = run, positive("speed", speed), run_times(run)
        self.t, self.playing = float(self.times[0]), True
        self._last: float | None = None  # when `tick` was called last
        self.scene = Scene(run.robot, view=view, size=size, off_screen=off_screen, **look)
        self.scene.fit_run(run)
        plotter = self.scene.plotter
        span = (self.t, max(float(self.times[-1]), self.t + 1e-9))
        place = {"pointa": (0.3, 0.07), "pointb": (0.75, 0.07)}
        style = {"color": INK, "style": "modern", "fmt": "%.2f", "interaction_event": "always"}
        self.slider = plotter.add_slider_widget(self._slid, span, value=self.t, **place, **style).GetRepresentation()
        self.slider.SetTubeWidth(0.004)
        self.slider.SetSliderWidth(0.02)
        self.slider.SetSliderLength(0.008)
        self.slider.SetEndCapLength(0.0)
        plotter.add_key_event("space", self.toggle)
        self.seek(self.t)

    def _slid(self, t: float) -> None:
        # a slider moved by `seek` calls this too, with the time it was given
        if abs(t - self.t) > 1e-9:
            self.seek(t)

    def seek(self, t: float) -> None:
        """Show time t [s]."""
        self.t = float(np.clip(t, self.times[0], self.times[-1]))
        q, u = sample(self.run, np.array([self.t]))
        self.scene.update(q[0], u[0], self.t)
        if hasattr(self, "slider"):
            self.slider.SetValue(self.t)

    def toggle(self) -> None:
        """Play or pause; at the end, play again."""
        self.playing, self._last = not self.playing, None
        if self.playing and self.t >= self.times[-1]:
            self.seek(float(self.times[0]))

    def tick(self, *_: object) -> None:
        """Go on to the present moment, if playing; pause at the end."""
        now = time.perf_counter()
        passed, self._last = (0.0 if self._last is None else now - self._last), now
        if self.playing:
            self.seek(self.t + passed * self.speed)
            self.playing = self.t < float(self.times[-1])
            self.scene.plotter.render()

    def show(self) -> None:
        """Open the window; returns when it is closed."""
        interactor = self.scene.plotter.iren
        interactor.initialize()
        interactor.add_observer("TimerEvent", self.tick)
        interactor.create_timer(PERIOD, repeating=True)
        self.scene.plotter.show()
