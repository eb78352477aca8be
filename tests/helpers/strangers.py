"""Motions of the tests in tests/strangers: what a user gets who sets nothing, and what is said of it."""

import warnings
from pathlib import Path

import numpy as np
import yaml

import sorosim

DATA = Path(__file__).parents[1] / "data" / "strangers"
WITHIN = 1e-3  # of its extent: what a way is right to at default settings, or the run warns


def load(name, **options):
    """A robot of tests/data/strangers."""
    return sorosim.load(DATA / f"{name}.yaml", **options)


def of_text(text):
    return sorosim.load(yaml.safe_load(text))


def simulate(robot, **options):
    """A motion and what was warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = sorosim.simulate(robot, **options)
    return run, [str(one.message) for one in said if issubclass(one.category, sorosim.SorosimWarning)]


def assert_right_or_said(agrees, quantity, ours, reference, said, *, extent, source, unit="m"):
    """At default settings a way is right to a thousandth of its extent, or a warning says otherwise."""
    off = float(np.abs(np.asarray(ours) - np.asarray(reference)).max())
    if off > WITHIN * extent:
        assert said, f"{quantity}: off by {off:.2g} {unit} of {extent:g}, and nothing is said"
        return
    agrees(
        quantity, ours, reference, atol=WITHIN * extent, source=source, unit=unit, bound="a thousandth of the extent"
    )
