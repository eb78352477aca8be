"""Derivatives against complex steps through the kernels themselves, which lose no digits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
EPS = 2.0**-52


@pytest.fixture(scope="module")
def worst():
    """Largest errors over trees of rods and joints; another Python, in which nothing is compiled."""
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    # a cast to real numbers would lose the derivative
    command = [sys.executable, "-W", "error", "-m", "helpers.complex_step", "0", "1", "5", "9"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["dtau_dq", "dtau_dqd", "mass_matrix"])
def test_derivatives_of_inverse_dynamics(worst, name):
    assert worst[name] <= 50 * EPS


@pytest.mark.parametrize("name", ["dqdd_dq", "dqdd_dqd", "dqdd_dtau"])
def test_derivatives_of_articulated_bodies(worst, name):
    """Differentiated as they stand, they give what the mass matrix solves from the derivatives of inverse dynamics."""
    assert worst[name] <= 10 * EPS  # over the condition of the scaled mass matrix
