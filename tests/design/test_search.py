"""The search by itself, of functions whose optima are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from sorosim.base.errors import ConvergenceError
from sorosim.studies.design.problem import Function
from sorosim.studies.design.search import METHODS, Search
from sorosim.studies.fitting.unknowns import Unknown


class Plane:
    """Two numbers, a function of them, and a disc in which trials fail."""

    def __init__(self, start, disc, radius):
        self.first_p, self.disc, self.radius, self.failed = np.array(start), np.array(disc), radius, 0
        self.free = [SimpleNamespace(name=name, unknown=Unknown("file", name, "number", value=x, low=-9.0, high=9.0))
                     for name, x in zip("ab", start, strict=True)]  # fmt: skip
        self.columns = ()
        self.first = self.trial(self.first_p)

    def trial(self, p, last=None):
        if np.linalg.norm(p - self.disc) < self.radius:
            self.failed += 1
            raise ConvergenceError("in the disc")
        return SimpleNamespace(p=p, slopes={}, problem=self)


GOAL = np.array([4.0, 0.3])
BOWL = Function("", "number", lambda trial: float(np.sum((trial.p - GOAL) ** 2)), lambda trial: 2.0 * (trial.p - GOAL))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-4, 0.3])
def test_a_search_whose_first_step_fails_goes_on(method, gap):
    """The straight way to the least value leads through a disc of failures that begins near the start."""
    plane = Plane([0.0, 0.0], [gap + 0.5, 0.0], 0.5)
    search = Search(plane, BOWL, 1.0, (), method, [400])
    search.begin(plane.first_p)
    found, _ = search.run(plane.first_p)
    assert plane.failed  # it did come to the disc
    np.testing.assert_allclose(found.p, GOAL, atol=1e-3)
