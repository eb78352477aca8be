"""Spacer discs and point masses: the inertia of rigid links, routes outside of a thin backbone, errors, pictures."""

from dataclasses import replace

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import ModelError, SorosimError
from sorosim.files import load_text
from sorosim.view.viz.geometry import BODY, Geometry
from tests.helpers.arms import changed, rubber_arm

DISCS = {"count": 4, "radius": "8 mm", "thickness": "2 mm", "mass": "0.5 g"}
THIN = changed(
    rubber_arm("0.5 mm", bending=3, torsion=1),
    {
        "materials.rubber": {"young": "60 GPa", "poisson": 0.3, "density": 6500, "damping": "60 MPa*s"},
        "links.arm.rod.discs": DISCS,
        "actuators": {"pull": {"tendon": {"rod": "arm", "y": 0, "z": "7 mm"}}},
    },
)


def as_links(content):
    """The same discs as rigid links that are fixed to the rod."""
    out = changed(content, {})
    discs = out["links"]["arm"]["rod"].pop("discs")
    along_x = {"rotation": {"axis": [0, 1, 0], "angle": "90 deg"}}
    for k in range(1, discs["count"] + 1):
        body = {
            "cylinder": {"radius": discs["radius"], "length": discs["thickness"]},
            "mass": discs["mass"],
            "at": along_x,
        }
        out["links"][f"disc{k}"] = {"parent": "arm", "at": {"s": k / discs["count"]}, "body": body}
    out["actuators"] = {}
    return out


def states(n):
    rng = np.random.default_rng(3)
    return rng.uniform(-0.5, 0.5, n), rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n)


def test_discs_have_the_inertia_and_weight_of_links_fixed_there():
    robot, other = sorosim.load(changed(THIN, {"actuators": {}})), sorosim.load(as_links(THIN))
    q, qd, qdd = states(robot.ndof)
    for ours, theirs in (
        (robot.mass_matrix(q), other.mass_matrix(q)),
        (robot.inverse_dynamics(q, qd, qdd=qdd), other.inverse_dynamics(q, qd, qdd=qdd)),
        (
            robot.inverse_dynamics_derivatives(q, qd, qdd=qdd).dtau_dq,
            other.inverse_dynamics_derivatives(q, qd, qdd=qdd).dtau_dq,
        ),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12 * np.abs(theirs).max())
    bare = sorosim.load(changed(THIN, {"links.arm.rod.discs.mass": 0}))
    assert not np.allclose(bare.mass_matrix(q), robot.mass_matrix(q), rtol=0.1)


def test_discs_of_several_divisions():
    rod = THIN["links"]["arm"]["rod"]
    half = {name: value for name, value in rod.items() if name != "length"} | {"length": "15 cm"}
    content = changed(THIN, {"links.arm.rod": {"divisions": [half, {**half, "discs": {**DISCS, "count": 2}}]}})
    robot = sorosim.load(content)
    area = np.pi * 0.0005**2
    mass = float(robot.engine.gravitational_inertia[:, 3, 3].sum())
    assert mass == pytest.approx(6500 * area * 0.3 + 6 * 0.5e-3, rel=1e-12)
    again = load_text(robot.to_yaml(), "again")
    assert again.to_yaml() == robot.to_yaml()
    q = states(robot.ndof)[0]
    assert np.array_equal(again.mass_matrix(q), robot.mass_matrix(q))


def test_a_tendon_bends_a_backbone_by_its_lever_outside():
    """A constant tension T at a distance z of the axis is a moment T z: a circular arc of curvature T z/EI."""
    robot = sorosim.load(changed(THIN, {"gravity": [0, 0, 0]}))
    eq = sorosim.statics(robot, {"pull": "2 N"})
    stiffness = 60e9 * np.pi / 4 * 0.0005**4
    curvature = 2.0 * 7e-3 / stiffness
    assert np.linalg.norm(eq.tip()[:2]) > 0
    turned = robot.pose(eq.q, "arm")[:3, :3]
    assert np.arccos(turned[0, 0]) == pytest.approx(curvature * 0.3, rel=1e-6)


def test_a_route_outside_of_a_thin_rod_says_how_discs_lead_it():
    content = changed(THIN, {})
    del content["links"]["arm"]["rod"]["discs"]
    with pytest.raises(ModelError, match=r"discs of the rod lead it there: discs: \{count: 10, radius: 7 mm"):
        sorosim.load(content)
    with pytest.raises(ModelError, match=r"0\.009 m from the axis .*, where the radius of its discs is 0\.008 m$"):
        sorosim.load(changed(THIN, {"actuators.pull.tendon.z": "9 mm"}))
    # discs that are smaller than the section change nothing
    thick = {"links.arm.rod.section": {"circle": {"radius": "1 cm"}}, "actuators.pull.tendon.z": "9.5 mm"}
    assert sorosim.load(changed(THIN, thick)).ndof


@pytest.mark.parametrize("path", ["links.arm.rod.discs.mass", "links.arm.rod.discs.radius", "links.arm.rod.length"])
def test_sensitivities_reach_discs(path):
    robot = sorosim.load(changed(THIN, {"actuators": {}, "links.arm.rod.strain": {"bending": 2}}))
    q, qd, qdd = states(robot.ndof)
    exact = sorosim.sensitivities(robot, [path]).inverse_dynamics(q, qd, qdd=qdd)[:, 0]
    value = sorosim.scalars(robot)[path]
    ends = [robot.with_values({path: value * (1.0 + sign * 1e-4)}) for sign in (1.0, -1.0)]
    difference = np.subtract(*(end.inverse_dynamics(q, qd, qdd=qdd) for end in ends)) / (2e-4 * value)
    np.testing.assert_allclose(exact, difference, rtol=1e-6, atol=1e-7 * np.abs(difference).max())


def test_discs_are_drawn_on_their_sections():
    robot = sorosim.load(THIN)
    q = states(robot.ndof)[0]
    geometry = Geometry(robot, n_stations=8, n_around=16)
    shape = geometry.at(q)
    discs = [part for part in geometry.parts if part.kind == BODY]
    assert [part.name for part in discs] == ["arm"] * 4
    for k, part in enumerate(discs, 1):
        pose = robot.pose(q, "arm", s=k / 4)
        local = (shape.points[part.points] - pose[:3, 3]) @ pose[:3, :3]
        np.testing.assert_allclose(np.abs(local[:, 0]).max(), 1e-3, rtol=1e-9)
        np.testing.assert_allclose(np.hypot(local[:, 1], local[:, 2]).max(), 8e-3, rtol=1e-9)


# -- point masses ------------------------------------------------------------------------------------------------------


def with_tip(body):
    return sorosim.load(changed(rubber_arm(), {"links.tip": {"parent": "arm", "body": body}}))


def test_a_point_mass_is_a_body_without_inertia():
    point = with_tip({"point_mass": "20 g", "centre": ["1 cm", 0, 0]})
    numbers = with_tip({"mass": "20 g", "centre": ["1 cm", 0, 0], "inertia": [0, 0, 0]})
    arm = sorosim.load(rubber_arm())
    tip = sorosim.Link("tip", sorosim.PointMass("20 g", centre=("1 cm", 0, 0)), parent="arm")
    python = sorosim.Robot(replace(arm.description, links=(*arm.description.links, tip)))
    ball = with_tip({"sphere": {"radius": "0.1 mm"}, "mass": "20 g", "at": {"position": ["1 cm", 0, 0]}})
    q, qd, qdd = states(point.ndof)
    tau = point.inverse_dynamics(q, qd, qdd=qdd)
    assert np.array_equal(tau, numbers.inverse_dynamics(q, qd, qdd=qdd))
    assert np.array_equal(tau, python.inverse_dynamics(q, qd, qdd=qdd))
    np.testing.assert_allclose(tau, ball.inverse_dynamics(q, qd, qdd=qdd), rtol=1e-6)
    assert "point_mass: 0.02" in point.to_yaml()
    assert np.array_equal(load_text(point.to_yaml(), "again").inverse_dynamics(q, qd, qdd=qdd), tau)


def test_two_point_masses_are_a_dumbbell():
    parts = [{"point_mass": "10 g", "centre": [0, 0, z]} for z in ("1 cm", "-1 cm")]
    body = with_tip(parts).links[-1].body
    np.testing.assert_allclose(body.inertia, [2e-6, 2e-6, 0, 0, 0, 0], atol=1e-20)
    assert body.mass == pytest.approx(0.02)


def test_a_pendulum_of_a_point_mass_swings_as_the_textbook_has_it():
    hinge = {"joint": {"revolute": {"axis": [0, 1, 0]}}, "body": {"point_mass": "1 kg", "centre": [0, 0, -0.5]}}
    robot = sorosim.load({"sorosim": 1, "name": "pendulum", "links": {"bob": hinge}})
    (frequency,) = robot.linearize(np.zeros(1)).frequencies
    assert frequency == pytest.approx(np.sqrt(9.81 / 0.5) / (2 * np.pi), rel=1e-12)


def test_a_joint_that_turns_a_point_about_itself_moves_no_mass():
    links = {"bob": {"joint": "free", "body": {"point_mass": "1 kg"}}}
    robot = sorosim.load({"sorosim": 1, "name": "point", "links": links})
    with pytest.raises(SorosimError, match=r"bob\.free"):
        robot.forward_dynamics(np.zeros(6), np.zeros(6))


def test_the_doctor_is_quiet_about_discs_and_point_masses():
    from sorosim.studies.doctor import ODD, WRONG, examine

    point = changed(THIN, {"links.tip": {"parent": "arm", "body": {"point_mass": "1 g"}}})
    assert [f for f in examine(sorosim.load(point)) if f.level in (ODD, WRONG) or f.code.startswith("body")] == []
