"""Numbers that the doctor prints, against formulas and second ways to find them."""

import re

import numpy as np
import pytest
import scipy.spatial.transform
from typer.testing import CliRunner

import sorosim
from sorosim.connect.cli.main import app
from sorosim.studies.doctor import ODD, WRONG, examine
from sorosim.studies.doctor.bodies import DEGREES, degrees_as_radians
from sorosim.studies.doctor.context import CheckContext
from sorosim.studies.doctor.rods import spike
from tests.helpers.arms import changed, rubber_arm

ARM = rubber_arm(bending=3)


def of(where, content):
    return [finding for finding in examine(sorosim.load(content)) if finding.where == where]


def printed_step(content):
    (reported,) = of("stiffness", content)
    return float(re.search(r"steps of (\S+) s", reported.what).group(1))


def growth(matrix):
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def test_explicit_steps_are_those_of_the_damped_motion():
    """Euler's method on the linearised motion: its fastest part is damped beyond swinging, and so is its limit."""
    step = printed_step(ARM)
    A = CheckContext(sorosim.load(ARM)).linearization.A
    eye = np.eye(len(A))
    # two digits are printed
    assert growth(eye + 0.94 * step * A) < 1.0 < growth(eye + 1.06 * step * A)


def test_explicit_steps_without_damping_are_those_of_central_differences():
    content = changed(ARM, {"materials.rubber.damping": 0})
    step = printed_step(content)
    A = CheckContext(sorosim.load(content)).linearization.A
    n = len(A) // 2
    K, eye = -A[n:, :n], np.eye(n)
    for factor, stable in ((0.94, True), (1.06, False)):
        h = factor * step
        # z' by the force where it is, then z by the new z': central differences in another form
        once = np.block([[eye - h * h * K, h * eye], [-h * K, eye]])
        assert (growth(once) < 1.0 + 1e-6) == stable


def test_what_falls_feels_no_weight():
    """A free rod swings as a beam with free ends does, beta L = 4.7300, with gravity as without."""
    content = changed(ARM, {"links.arm.joint": "free", "links.arm.rod.strain": {"bending": 8}, "actuators": {}})
    content = changed(content, {"links.arm.rod.section.circle.radius": "3 mm"})
    EI, line = 1e6 * np.pi / 4.0 * 0.003**4, 1000.0 * np.pi * 0.003**2
    exact = 4.730041**2 / (2.0 * np.pi * 0.3**2) * np.sqrt(EI / line)
    for g in (9.81, 0.0):
        frequencies = CheckContext(sorosim.load(changed(content, {"gravity": [0, 0, -g]}))).frequencies
        # rotary inertia takes (pi r/L)^2 or so from it
        assert frequencies.min() == pytest.approx(exact, rel=2e-3), g
    rigid = {"joint": "free", "body": {"mass": 1, "inertia": [1, 1, 1]}}
    assert not len(CheckContext(sorosim.load({"sorosim": 1, "links": {"body": rigid}})).frequencies)


def test_a_rod_is_as_slender_in_pieces_as_in_one():
    """A stub lacks nine times as much by not shearing as three of them do that make one rod."""
    rod = {**ARM["links"]["arm"]["rod"], "length": "5 cm"}
    pieces = {"divisions": [dict(rod), dict(rod), dict(rod)]}
    chain = {"arm": {"rod": rod}, "b": {"parent": "arm", "rod": rod}, "c": {"parent": "b", "rod": rod}}
    kinked = {**chain, "c": {**chain["c"], "at": {"rotation": {"axis": [0, 0, 1], "angle": "90 deg"}}}}
    hinged = {**chain, "c": {**chain["c"], "joint": {"revolute": {"axis": [0, 1, 0], "stiffness": 1}}}}
    forked = {**chain, "c": {**chain["c"], "parent": "arm"}}
    slender = {}
    for name, links in {
        "one": {"arm": {"rod": {**rod, "length": "15 cm"}}},
        "stub": {"arm": {"rod": rod}},
        "pieces": {"arm": {"rod": pieces}},
        "chain": chain,
        "kinked": kinked,
        "hinged": hinged,
        "forked": forked,
    }.items():
        found = examine(sorosim.load({**ARM, "links": links, "actuators": {}}))
        slender[name] = [f.value for f in found if "without shear" in f.what]
    # of a cantilever with G = E/3: 3 E/(0.9 G 16) (d/L)^2 of what bending gives
    stub = 100.0 * 3.0 * 3.0 / (0.9 * 16.0) * (2.0 / 5.0) ** 2
    np.testing.assert_allclose(slender["one"], [stub / 9.0], rtol=1e-12)
    for name in ("pieces", "chain"):
        np.testing.assert_allclose(slender[name], [stub / 9.0] * 3, rtol=1e-12)
    np.testing.assert_allclose(slender["stub"], [stub], rtol=1e-12)
    np.testing.assert_allclose(slender["forked"], [stub] * 3, rtol=1e-12)
    np.testing.assert_allclose(slender["kinked"], [stub / 4.0] * 2 + [stub], rtol=1e-12)
    np.testing.assert_allclose(slender["hinged"], slender["kinked"], rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "slip"),
    [
        ([10, 9, 8, 70], 3),
        ([100, 9, 8, 7], 0),
        ([1, 9, 8, 7], 0),
        ([10, 90, 8, 7], 1),
        ([10, 9, 0.8, 7], 2),
        ([10, 90, 8], 1),
        ([10, 9, 80], 2),
        ([10, 8, 6, 4, 2, 0], -1),
        ([0, 5, 8, 5, 0], -1),
        ([10, 9, 8, 0.3], -1),
        ([30, 10, 9, 8], -1),
        ([8, 8, 12, 12], -1),
    ],
)
def test_a_slip_in_a_table_is_told_from_its_neighbours(values, slip):
    assert spike(np.linspace(0.0, 1.0, len(values)), np.array(values, dtype=float))[1] == slip


def test_degrees_that_were_read_as_radians_are_known_by_their_digits():
    Rotation = scipy.spatial.transform.Rotation
    rng = np.random.default_rng(1)
    for degrees in DEGREES:
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        assert degrees_as_radians(Rotation.from_rotvec(degrees * axis).as_matrix()) == degrees
        assert degrees_as_radians(Rotation.from_rotvec(-degrees * axis).as_matrix()) == degrees
        assert degrees_as_radians(Rotation.from_rotvec(np.radians(degrees) * axis).as_matrix()) == 0.0
    for _ in range(300):
        rpy = rng.choice([0.0, 30.0, 45.0, -60.0, 90.0, 180.0], size=3)
        reported = degrees_as_radians(Rotation.from_euler("xyz", rpy).as_matrix())
        # another order of turns may be the shorter way to say the same: whatever is named has been written
        assert (reported > 0.0) == bool(rpy.any())
        assert degrees_as_radians(Rotation.from_euler("xyz", rpy, degrees=True).as_matrix()) == 0.0
    assert not any(degrees_as_radians(R) for R in Rotation.random(3000, random_state=2).as_matrix())


@pytest.mark.parametrize(
    ("length", "radius", "young", "level", "where"),
    [(1e50, 1e-50, 1e50, ODD, "links.arm.rod"), (1e-30, 1e-30, 1e-30, WRONG, "dynamics")],
)
def test_numbers_at_the_bounds_are_told_without_a_traceback(length, radius, young, level, where):
    sizes = {"links.arm.rod.length": length, "links.arm.rod.section.circle.radius": radius}
    content = changed(ARM, {**sizes, "materials.rubber.young": young, "actuators": {}})
    assert (where, level) in [(f.where, f.level) for f in examine(sorosim.load(content))]


def test_a_check_that_the_robot_does_not_allow_is_told_with_the_others():
    twisted = {"links.arm.rod.length": 1e49, "links.arm.rod.strain": {"bending": 2, "torsion": 1}, "actuators": {}}
    found = examine(sorosim.load(changed(ARM, twisted)))
    assert ("links.arm.rod", ODD) in [(f.where, f.level) for f in found]
    assert any(f.level == WRONG and "nothing has inertia along 'arm.torsion[0]'" in f.what for f in found)
    assert CliRunner().invoke(app, ["check", "cable_manipulator", "--set", "links.arm.rod.length=1e49"]).exit_code == 1


def test_a_spring_at_the_bounds_gives_accelerations_beyond_all_numbers():
    spring = {"from": "arm", "to": {"at": {"position": [1e50, 0, 0]}}, "stiffness": 1e50}
    found = examine(sorosim.load(changed(ARM, {"loads.rope.spring": spring})))
    assert [f.where for f in found if f.level == WRONG] == ["dynamics"]


def test_a_current_with_a_pole_is_no_wrong_derivative():
    """The differences have to be finer than the current is: 1/r a few centimetres away from its source."""
    flow = "0.1*x/(x*x + y*y + (z + 0.05)**2)"
    content = changed(ARM, {"loads.water.fluid": {"density": 1000, "current": [flow, 0, 0]}})
    assert not [f for f in examine(sorosim.load(content)) if f.level == WRONG]


def test_rods_of_one_kind_are_one_line_of_the_table(tmp_path):
    rod = {**ARM["links"]["arm"]["rod"], "length": "5 cm"}
    links = {name: {"at": {"position": [0, y, 0]}, "rod": rod} for y, name in enumerate(("a", "b", "c"))}
    robot = sorosim.load({**ARM, "links": links, "actuators": {}})
    (tmp_path / "three.yaml").write_text(robot.to_yaml())
    reported = CliRunner().invoke(app, ["check", str(tmp_path / "three.yaml")])
    assert reported.exit_code == 0
    assert reported.output.count("without shear") == 1
    assert "links.a.rod and 2 more" in reported.output
    assert sum(f.level == ODD for f in examine(robot)) == 3
    assert "3 odd" in reported.output


def test_what_gauss_points_miss_of_a_winding_tendon_is_that_of_its_integrals():
    """Of a uniform rod the basis is orthogonal: the work of unit tension on P_i is the integral of P_i z/|t|."""
    content = changed(ARM, {"links.arm.rod.strain": {"bending_y": 3}, "links.arm.rod.quadrature": 6})
    content = changed(content, {"actuators.pull.tendon.z": "5 mm*cos(2*pi*3*s)"})
    (reported,) = [f for f in of("actuators.pull", content) if "faster along" in f.what]

    def work(n):
        x, w = np.polynomial.legendre.leggauss(n)
        s = 0.5 * (1.0 + x)
        slope = -0.005 * 6.0 * np.pi / 0.3 * np.sin(6.0 * np.pi * s)
        arm = 0.005 * np.cos(6.0 * np.pi * s) / np.hypot(1.0, slope)
        return np.array([np.sum(w * arm * np.polynomial.legendre.Legendre.basis(i)(x)) for i in range(4)])

    size = np.sqrt(2.0 * np.arange(4) + 1.0)
    missed = np.linalg.norm(size * (work(6) - work(300))) / np.linalg.norm(size * work(300))
    assert reported.value == pytest.approx(100.0 * missed, rel=1e-8)


@pytest.mark.parametrize("flow", [[0, "0.1*y/(y*y + z*z)", 0], [0, 0, "1/z"]])
def test_a_current_with_a_pole_on_the_axis_of_a_rod_is_examined(flow):
    """There the forces have no derivatives: checks that need them are left out."""
    content = changed(ARM, {"loads.water.fluid": {"density": 1000, "current": flow}})
    assert examine(sorosim.load(content))


def test_what_springs_hold_in_the_air_has_their_frequencies():
    """A ball on four springs, out of balance: small motions are those under its loads, without its weight."""
    ends = [0, 0, 1], [0, 1, -1], [1, 0, -1], [-1, -1, 0]
    springs = {
        f"s{k}": {"spring": {"from": {"link": "ball", "at": {"position": [0.05 * x for x in end]}},
                             "to": {"link": "world", "at": {"position": end}}, "stiffness": "1 kN/m", "rest": "0.5 m"}}
        for k, end in enumerate(ends)
    }  # fmt: skip
    ball = {"joint": "free", "body": {"sphere": {"radius": "5 cm"}, "mass": "1 kg"}}
    block = {"t_end": 10, "dt_out": 0.5, "step": 0.5, "method": "newmark"}
    robot = sorosim.load({"sorosim": 1, "name": "moored", "links": {"ball": ball}, "loads": springs, "simulate": block})
    context = CheckContext(robot)
    assert isinstance(context.equilibrium, str)
    weightless = sorosim.load({"sorosim": 1, "gravity": [0, 0, 0], "links": {"ball": ball}, "loads": springs})
    q = robot.initial_q
    K = -weightless.inverse_dynamics_derivatives(q, 0 * q, qdd=0 * q).dtau_dq
    expected = np.sqrt(np.abs(np.linalg.eigvals(np.linalg.solve(robot.mass_matrix(q), K)).real)) / (2 * np.pi)
    assert max(context.frequencies) == pytest.approx(expected.max(), rel=1e-9)
    reported = [f.where for f in examine(robot) if f.level == ODD]
    assert {"simulate.dt_out", "simulate.step"} <= set(reported)


def test_a_winding_tendon_is_seen_beside_a_rod_with_many_points():
    winding = {"actuators.pull.tendon": {"rod": "arm", "y": "5 mm*cos(2*pi*50*s)", "z": "5 mm*sin(2*pi*50*s)"}}
    alone = changed(ARM, winding)
    other = {**ARM["links"]["arm"]["rod"], "quadrature": 60}
    beside = changed(alone, {"links.other": {"at": {"position": [0, 1, 0]}, "rod": other}})
    for content in (alone, beside):
        reported = [f for f in examine(sorosim.load(content)) if f.where == "actuators.pull" and f.level == ODD]
        assert any("Gauss points" in f.what for f in reported)


def test_a_load_beyond_all_bounds_is_refused_and_one_that_comes_there_is_told():
    def loaded(force):
        return sorosim.load(changed(ARM, {"loads.tip.wrench": {"link": "arm", "force": [0, 0, force]}}))

    with pytest.raises(sorosim.SorosimError, match=r"force\[2\].*none beyond 1e\+50"):
        loaded(1e300)
    (reported,) = (f for f in examine(loaded("1e300 * t")) if f.where == "loads.tip")
    assert (reported.level, reported.what) == (ODD, "is beyond all numbers at times")
