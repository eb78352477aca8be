"""The recursions that the benchmarks compare, against the engine; the engine against recursions of hinges alone."""

import numpy as np
import pytest
from helpers.chains.forward import aba_chain_rule, fdcr, fdsva
from helpers.chains.inverse import idsva_body, idsva_ground, rnea_chain_rule
from helpers.chains.sweeps import make_chain, make_room
from helpers.differences import relative_error
from helpers.robots import rigid_tree

# the same sums in another order, over up to twenty-four bodies
ROUNDED = 1e-12
# times the condition of M, which is some 1e3 in these chains
SOLVED = 1e-10


def chain_and_state(n):
    rng = np.random.default_rng(n)
    robot = rigid_tree(rng, n, kinds=["revolute"], along=1.0)
    return robot, make_chain(robot), rng.normal(size=(4, n))


@pytest.mark.parametrize("n", [2, 7, 24])
@pytest.mark.parametrize("recursion", [idsva_ground, idsva_body, rnea_chain_rule], ids=lambda f: f.__name__)
def test_recursions_of_inverse_dynamics_agree_with_the_engine(recursion, n):
    robot, chain, (q, qd, qdd, _) = chain_and_state(n)
    out, wanted = np.full((2, n, n), np.nan), robot.inverse_dynamics_derivatives(q, qd, qdd=qdd)
    recursion(chain, q, qd, qdd, make_room(n), out)
    assert relative_error(out[0].T, wanted.dtau_dq) < ROUNDED
    assert relative_error(out[1].T, wanted.dtau_dqd) < ROUNDED


@pytest.mark.parametrize("n", [2, 7, 24])
@pytest.mark.parametrize("recursion", [fdsva, fdcr, aba_chain_rule], ids=lambda f: f.__name__)
def test_recursions_of_forward_dynamics_agree_with_the_engine(recursion, n):
    robot, chain, (q, qd, _, tau) = chain_and_state(n)
    qdd, out, wanted = np.empty(n), np.full((2, n, n), np.nan), robot.forward_dynamics_derivatives(q, qd, u=tau)
    rooms = [make_room(n)] if recursion is aba_chain_rule else [make_room(n), make_room(n)]
    recursion(chain, q, qd, tau, *rooms, qdd, out)
    assert relative_error(qdd, wanted.qdd) < SOLVED
    assert relative_error(out[0].T, wanted.dqdd_dq) < SOLVED
    assert relative_error(out[1].T, wanted.dqdd_dqd) < SOLVED


@pytest.mark.parametrize("recursion", [idsva_ground, idsva_body, rnea_chain_rule], ids=lambda f: f.__name__)
def test_sweeps_leave_nothing_behind_in_their_room(recursion):
    _, chain, (q, qd, qdd, _) = chain_and_state(7)
    room, out = make_room(7), np.zeros((2, 2, 7, 7))
    recursion(chain, q, qd, qdd, room, out[0])
    recursion(chain, q, qd, qdd, room, out[1])
    assert np.array_equal(out[0], out[1])
