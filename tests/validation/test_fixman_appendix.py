"""The matrices that the paper of the extended Fixman method prints, of a PUMA 560 and of a polypeptide chain.

tests/data/fixman_appendix.json has what is printed, and what is not: the paper names a source for the inertias of the
arm, and gives the atoms of the chain but not the lengths of all bonds. With what is there

- M of the arm is reproduced to the last digit, and so is its inverse; but its coordinates are turns beta about the axes
  x, not the turns gamma about z that the text says: with these no inertias come near.
- M of the chain is reproduced to 2e-3 (2e-6 of its largest entry) by six lengths and angles that were fitted to it, and
  its inverse to the last digit. It holds if angle 4 is 190.5 degrees, not 289.5, and angle 7 is 69.5, not 70.5, as the
  printed poses have them; if the mass of a C-alpha with H and CH3 is that of CH3 alone, while its centre and its
  inertia are those of all three; and if products of inertia are left out.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.algorithms import solve_mass
from sorosim.mechanics.lie import exp_so3
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.robot import Robot

PRINTED = json.loads((Path(__file__).parents[1] / "data" / "fixman_appendix.json").read_text("utf-8"))
ALGORITHMS = ("composite", "articulated", "fixman")


def screw(axis, distance, turn):
    g = np.eye(4)
    g[:3, :3] = exp_so3(turn * np.eye(3)[axis])
    g[axis, 3] = distance
    return g


class Chain:
    """T_k = T_{k-1} screw(x, b, beta) screw(z, c, gamma), a body at each; coordinates are the turns about x or z."""

    def __init__(self, data, gamma, bodies, c=None, soft="beta"):
        beta, gamma = np.radians(data["beta_degrees"]), np.radians(gamma)
        b, c = data["b"], np.zeros(len(beta)) if c is None else c
        self.q = beta if soft == "beta" else gamma
        links, rest = [], np.eye(4)
        for k, body in enumerate(bodies):
            # the link's frame is that after its turn; what of T_k comes after belongs to the body and to the next link
            after = screw(2, c[k], gamma[k]) if soft == "beta" else screw(2, c[k], 0.0)
            before = screw(0, b[k], 0.0) if soft == "beta" else screw(0, b[k], beta[k])
            at = rest @ before
            joint = Joint("revolute", axis=np.eye(3)[0 if soft == "beta" else 2])
            links.append(Link(f"link{k}", body.moved(after), joint=joint, parent=f"link{k - 1}" if k else WORLD, at=at))
            rest = after
        self.robot, self.after = Robot(Description("chain", tuple(links))), gamma

    def centres(self):
        """Positions of the centres of mass."""
        poses = self.robot.kinematics(self.q).g
        return np.array(
            [g[:3, :3] @ link.body.centre + g[:3, 3] for g, link in zip(poses, self.robot.links, strict=True)]
        )


def arm(soft="beta"):
    data = PRINTED["puma"]
    hidden = data["not_printed"]
    bodies = [
        RigidBody(m, centre=tuple(c), inertia=tuple(i))
        for m, c, i in zip(hidden["mass"], hidden["centre"], hidden["inertia"], strict=True)
    ]
    return Chain(data, data["gamma_degrees"], bodies, data["c"], soft)


def atoms(kind):
    """Masses and places of the atoms at a C-alpha, a C' or an N of the backbone, which is at the origin."""
    mass, bond = PRINTED["polypeptide"]["atoms"], PRINTED["polypeptide"]["not_printed"]
    flat = [-1 / 3, -np.sqrt(2) / 3]  # a tetrahedron with the next atom along x, the last one in the plane x-y

    def direction(degrees):
        return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0.0])

    return {
        "CA": [(mass["C"], np.zeros(3)), (mass["C"] + 3 * mass["H"], bond["C_CH3"] * np.array([*flat, np.sqrt(2 / 3)])),
               (mass["H"], bond["C_H"] * np.array([*flat, -np.sqrt(2 / 3)]))],
        "C": [(mass["C"], np.zeros(3)), (mass["O"], bond["C_O"] * direction(bond["O_degrees"]))],
        "N": [(mass["N"], np.zeros(3)), (mass["H"], bond["N_H"] * direction(bond["H_degrees"]))],
    }[kind]  # fmt: skip


def group(kind):
    """A rigid group of atoms as the printed matrix has it."""
    found = atoms(kind)
    total = sum(m for m, _ in found)
    centre = sum(m * r for m, r in found) / total
    moments = sum(m * ((r - centre) @ (r - centre) - (r - centre) ** 2) for m, r in found)
    mass = PRINTED["polypeptide"]["atoms"]["C"] + 3 * PRINTED["polypeptide"]["atoms"]["H"] if kind == "CA" else total
    return RigidBody(mass, centre=tuple(centre), inertia=tuple(moments))


def peptide():
    data = PRINTED["polypeptide"]
    return Chain(data, data["not_printed"]["gamma_degrees"], [group(kind) for kind in ("CA", "C", "N") * 2 + ("CA",)])


def last_digit(value):
    """One unit of the last digit that is printed: five significant ones, four decimals at most."""
    size = np.abs(value)
    return np.where(size >= 1000.0, 0.1, np.where(size >= 100.0, 0.01, 1e-4))


@pytest.mark.parametrize("name", ["puma", "polypeptide"])
def test_what_is_printed_agrees_with_itself(name):
    M, inverse = (np.array(PRINTED[name][key]) for key in ("mass_matrix", "inverse"))
    if name == "polypeptide":
        # M has seven digits: its inverse is that which is printed
        assert np.abs(np.linalg.inv(M) - inverse).max() < 0.5e-4
    else:
        # M of the wrist has one digit, its inverse has five: the inverse of that is M, to the digits of its larger rows
        assert np.abs(np.linalg.inv(inverse) - M).max() < 4e-4
        assert np.abs(np.linalg.inv(inverse) - M)[2:].max() < 1e-4


def test_the_poses_of_the_arm():
    chain, printed = arm(), np.array(PRINTED["puma"]["centre_poses"])
    assert_allclose(chain.centres(), printed[:, :, 3], atol=1e-3)  # three decimals, and those of the centres
    g = chain.robot.kinematics(chain.q).g
    turned = g[:, :3, :3] @ np.array([screw(2, 0.0, x)[:3, :3] for x in chain.after])
    assert_allclose(turned, printed[:, :, :3], atol=0.51e-3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_matrices_of_the_arm(agrees, algorithm):
    chain, data = arm(), PRINTED["puma"]
    # entry 66 is 0.00045 exactly
    agrees("mass matrix of a PUMA 560", chain.robot.mass_matrix(chain.q), data["mass_matrix"], atol=0.51e-4,
           source="Lee, Wang and Chirikjian, appendix", bound="digits printed")  # fmt: skip
    found = solve_mass(chain.robot, chain.q, np.eye(6), algorithm=algorithm)
    assert (np.abs(found - data["inverse"]) < last_digit(data["inverse"])).all()


def test_the_coordinates_of_the_arm_are_not_those_that_the_text_names():
    chain, M = arm("gamma"), np.array(PRINTED["puma"]["mass_matrix"])
    # axes 5 and 6 are one axis then, so M56 = M66 for any inertias; printed are 0.0002 and 0.0004
    found = chain.robot.mass_matrix(chain.q)
    assert abs(found[4, 5] - found[5, 5]) < 1e-12 < abs(M[4, 5] - M[5, 5])
    assert np.abs(found - M).max() > 0.2


def test_the_poses_of_the_chain():
    chain, printed = peptide(), np.array(PRINTED["polypeptide"]["centre_poses"])
    assert_allclose(chain.centres(), printed[:, :, 3], atol=1e-3)
    g = chain.robot.kinematics(chain.q).g
    turned = g[:, :3, :3] @ np.array([screw(2, 0.0, x)[:3, :3] for x in chain.after])
    assert_allclose(turned, printed[:, :, :3], atol=0.6e-3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_matrices_of_the_chain(agrees, algorithm):
    chain, data = peptide(), PRINTED["polypeptide"]
    assert np.abs(chain.robot.mass_matrix(chain.q) - data["mass_matrix"]).max() < 2e-3
    found = solve_mass(chain.robot, chain.q, np.eye(7), algorithm=algorithm)
    agrees("inverse of the mass matrix of a polypeptide chain", found, data["inverse"], atol=0.5e-4,
           source="Lee, Wang and Chirikjian, appendix", bound="digits printed")  # fmt: skip
