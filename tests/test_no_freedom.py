"""Robots in which nothing is free: fixed links, and links whose joints are all driven."""

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import InputError

BODY = {"mass": "1 kg", "box": {"size": ["1 cm", "2 cm", "3 cm"]}}
FIXED = {"sorosim": 1, "name": "fixed", "links": {"a": {"body": BODY}, "b": {"parent": "a", "body": BODY}}}
DRIVEN = {
    "sorosim": 1, "name": "driven", "statics": {"driven": {"a": 0.2, "b": 0.1}},
    "links": {"a": {"joint": {"revolute": {"axis": [0, 1, 0]}}, "body": BODY},
              "b": {"parent": "a", "joint": {"prismatic": {"axis": [1, 0, 0]}}, "body": BODY}},
}  # fmt: skip
MASS = "links.b.body.mass"


@pytest.fixture(params=[FIXED, DRIVEN], ids=["fixed", "driven"])
def robot(request):
    return sorosim.load(request.param)


def test_no_analysis_hands_lapack_an_empty_matrix(robot, capfd):
    """It would print that a parameter has an illegal value, to the terminal, beyond Python."""
    driven = dict(robot.description.statics.get("driven", {}))
    zero, inputs = np.zeros(robot.ndof), np.zeros((3, 0))
    found = sorosim.statics(robot)
    assert found.stable
    assert len(robot.linearize(found.q, free=[]).eigenvalues) == 0
    sorosim.sensitivities(robot, [MASS])
    if robot.ndof == 0:
        for one in (robot.forward_dynamics(zero, zero), robot.solve_mass(zero, zero)):
            assert np.size(one) == 0
    sim = sorosim.Stepper(robot, 1e-3, driven=driven, tolerance=1e-11)
    sim.reset()
    np.testing.assert_allclose(sim.step().q, found.q)
    rolled = sorosim.rollout(robot, inputs, 1e-3, driven=driven, tolerance=1e-11)
    assert np.all(np.isfinite(rolled.vjp(np.ones_like(rolled.q)).u))
    batch = sorosim.Batch(robot, 2, 1e-3, driven=driven, tolerance=1e-11)
    batch.reset()
    batch.rollout(np.zeros((2, 3, 0))).vjp()
    if driven:
        np.testing.assert_allclose(sorosim.simulate(robot, 0.01, driven=driven).q[-1], found.q)
    else:
        with pytest.raises(InputError, match="free"):
            sorosim.simulate(robot, 0.01)
    with pytest.raises(InputError, match="free"):
        sorosim.inverse(robot, {"b": [0, 0, 1]})
    told = capfd.readouterr()
    assert "illegal value" not in told.out + told.err
