"""Concentric tubes: what is refused, derivatives, insertions and rotations, inertia, files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

import sorosim as so
from sorosim.mechanics.dynamics.energies import elastic_energy, energy
from sorosim.mechanics.engine import tasks as task

NITINOL = so.Material(50e9, shear=19e9, density=6450.0)


def tubes(**inner) -> so.Tubes:
    """A tube in a tube, with sections of three kinds."""
    given = {"length": 0.3, "radius": 0.9e-3, "inner_radius": 0.7e-3, "material": NITINOL, "insertion": 0.2}
    given |= {"curves": [so.Curve(0.08, bending_y=15.0), so.Curve(0.03, bending_z=10.0)]}
    outer = so.Tube(0.2, 1.2e-3, 1e-3, NITINOL, insertion=0.13, curves=[so.Curve(0.06, bending_y=8.0)])
    return so.Tubes({"outer": outer, "inner": so.Tube(**(given | inner))})


def helices() -> so.Tubes:
    """The tubes with curves that turn and change along them."""
    curves = [so.Curve(0.08, bending_y=(15.0, 9.0), bending_z=4.0, torsion=20.0, sections=2),
              so.Curve(0.03, bending_z=(10.0, 14.0))]  # fmt: skip
    both = tubes(curves=curves).tubes
    outer = both["outer"].changed(curves=[so.Curve(0.06, bending_y=8.0, torsion="-900 deg/m")])
    return so.Tubes({"outer": outer, "inner": both["inner"]})


def wire(curve: so.Curve, length: float = 0.2) -> so.Robot:
    """A wire along x without weight."""
    body = so.Tubes({"wire": so.Tube(length, 5e-4, 0.0, NITINOL, curves=[curve])})
    return so.Robot(so.Description("w", (so.Link("w", body),), gravity=(0.0, 0.0, 0.0)))


def robot(body: so.Tubes, gravity: float = 0.0, **loads) -> so.Robot:
    """The tubes upright."""
    upright = np.array([[0.0, 0, -1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]])
    return so.Robot(so.Description("r", (so.Link("r", body, at=upright),), gravity=(0.0, 0.0, gravity), loads=loads))


def random_state(one: so.Robot, rng: np.random.Generator) -> np.ndarray:
    """Coordinates (ndof,), insertions of millimetres."""
    is_length = np.array(one.engine.layout.dimensions) == "length"
    return rng.normal(size=one.ndof) * np.where(is_length, 1e-3, 0.3)


@pytest.mark.parametrize(
    ("keys", "where", "expected"),
    [
        ({"radius": 1.3e-3}, "inner.radius", "in the order of their radii, the outermost first"),
        ({"radius": 1.05e-3}, "inner.radius", "a tube that fits into 'outer'"),
        ({"insertion": 0.12}, "inner.insertion", "at least that of 'outer', 0.13 m, in which it is"),
        ({"insertion": 0.31}, "insertion", "no more than the length of the tube"),
        ({"inner_radius": 0.9e-3}, "inner_radius", "a hole smaller than the tube"),
        ({"curves": [so.Curve(0.31)]}, "curves", "curves no longer than the tube together"),
    ],
)
def test_tubes_that_cannot_be_are_refused(keys: dict, where: str, expected: str) -> None:
    with pytest.raises(so.ModelError) as caught:
        tubes(**keys)
    assert where in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"bending_y": (1.0, 2.0, 3.0)}, "bending_y: expected a list of 2, each a curvature"),
        ({"bending_z": (1.0, "2 m")}, r"bending_z\[1\]: expected a curvature"),
        ({"torsion": "2 rad"}, "torsion: expected a curvature"),
        ({"sections": 0}, "sections: expected a whole number from 1 to 100"),
    ],
)
def test_curves_that_cannot_be_are_refused(keys: dict, expected: str) -> None:
    with pytest.raises(so.ModelError, match=expected):
        so.Curve(0.1, **keys)


@pytest.mark.parametrize(
    ("driven", "expected"),
    [
        ({"r.inner.insertion": 0.11}, "at most its length, 0.3 m"),
        ({"r.outer.insertion": -0.14}, "an insertion of more than 0"),
        ({"r.inner.insertion": -0.03}, "'inner' that begins 110 mm before its end beyond the curve of 'outer' that"),
        ({"r.inner.insertion": 0.05}, "the end of 'outer' beyond the curve of 'inner' that begins 110 mm before"),
    ],
)
def test_insertions_that_pass_an_end_are_one_error(driven: dict, expected: str) -> None:
    with pytest.raises(so.ModelError, match=expected):
        so.statics(robot(tubes()), driven=driven)


def slopes(function, x: np.ndarray, h: float = 2e-5) -> np.ndarray:
    """Derivative (..., n) of a function of x (n,), by differences of fourth order."""

    def difference(step: np.ndarray) -> np.ndarray:
        return (function(x + step) - function(x - step)) / (2.0 * h)

    steps = h * np.eye(len(x))
    return np.stack([(4.0 * difference(d) - difference(2.0 * d) / 2.0) / 3.0 for d in steps], axis=-1)


def check_residual(one: so.Robot, q: np.ndarray) -> None:
    """Compare derivatives of the residual of equilibria with differences, those by insertions by themselves, too."""
    zero, none = np.zeros(one.ndof), np.zeros(0)
    by_q = one.engine.evaluate(task.RESIDUAL_DERIVATIVES, q, zero, zero.copy(), none).by_q
    differences = slopes(lambda x: one.engine.evaluate(task.RESIDUAL, x, zero, zero.copy(), none).tau, q)
    assert_allclose(by_q, differences, atol=1e-9 * np.abs(by_q).max())
    is_length = np.array(one.engine.layout.dimensions) == "length"
    for ours, theirs in (
        (by_q[is_length], differences[is_length]),
        (by_q[:, is_length].T, differences[:, is_length].T),
    ):
        others = ours[:, ~is_length]
        assert_allclose(others, theirs[:, ~is_length], atol=1e-7 * np.abs(others).max())


@pytest.mark.parametrize("body", [tubes, helices])
def test_forces_are_those_of_the_energy(body, rng) -> None:
    one = robot(body())
    q, zero, none = random_state(one, rng), np.zeros(one.ndof), np.zeros(0)
    out = one.engine.internal(q, zero, none, True)
    slope = slopes(lambda x: elastic_energy(one.engine, x), q)
    assert_allclose(out.tau, -slope, atol=1e-9 * np.abs(out.by_q).max())
    second = slopes(lambda x: one.engine.internal(x, zero, none).tau, q)
    assert_allclose(out.by_q, second, atol=1e-9 * np.abs(out.by_q).max())


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (30.0, -50.0, 20.0)])
def test_residual_under_loads_has_its_derivatives(gravity, rng) -> None:
    """By the insertions, too, of tubes whose plate turns and moves."""
    load = so.Wrench(link="r", s=1.0, force=(0.1, -0.2, 0.3), moment=(1e-3, 2e-3, -1e-3))
    arm = so.Link("arm", so.Rod(0.1, so.Circle(1e-3), NITINOL, so.Strain(bending=1)))
    links = arm, so.Link("r", helices(), parent="arm")
    one = so.Robot(so.Description("r", links, gravity=gravity, loads={"tip": load}))
    check_residual(one, random_state(one, rng))


@pytest.mark.parametrize("body", [tubes, helices])
@pytest.mark.parametrize("gravity", [0.0, -98.1])
def test_a_driven_insertion_is_that_of_the_file(body, gravity: float) -> None:
    load, turns = so.Wrench(link="r", s=1.0, force=(0.1, -0.2, 0.3)), {"r.inner.rotation": 1.0}
    one, move = robot(body(), gravity, tip=load), {"r.inner.insertion": 0.02, "r.outer.insertion": 0.005}
    moved = so.statics(one, driven=move | turns)
    given = so.statics(one.with_values({"links.r.tubes.inner.insertion": 0.22, "links.r.tubes.outer.insertion": 0.135}),
                       driven=turns)  # fmt: skip
    assert_allclose(moved.tip(), given.tip(), atol=1e-12)
    for name in ("r.inner.rotation", "r.inner.insertion", "r.outer.insertion"):
        assert moved.driven[name] == pytest.approx(given.driven[name], abs=1e-10)


def test_a_coinciding_end_may_not_be_left_behind() -> None:
    with pytest.raises(so.ModelError, match="at the same place as"):
        so.statics(robot(tubes(insertion=0.13)), driven={"r.inner.insertion": 0.01})


@pytest.mark.parametrize("tube", ["outer", "inner"])
@pytest.mark.parametrize(("body", "gravity"), [(tubes, 0.0), (helices, -98.1)])
def test_the_force_of_an_insertion_is_the_slope_of_the_energy(tube: str, body, gravity: float) -> None:
    one, h, turns = robot(body(), gravity), 1e-5, {"r.inner.rotation": 1.5}

    def at(insertion: float) -> so.Equilibrium:
        return so.statics(one, driven={f"r.{tube}.insertion": insertion, **turns})

    energies = [sum(energy(one.engine, at(x).q, np.zeros(one.ndof))) for x in (2e-3 - h, 2e-3 + h)]
    slope = (energies[1] - energies[0]) / (2.0 * h)
    assert at(2e-3).driven[f"r.{tube}.insertion"] == pytest.approx(slope, rel=1e-6)


def test_a_plate_that_is_lifted_carries_what_is_outside() -> None:
    """And pays for what comes out of it."""
    slider = so.Link("r", tubes(), joint=so.Prismatic(axis=(0, 0, 1)))
    one = so.Robot(so.Description("r", (slider,), gravity=(0.0, 0.0, -9.81)))
    found = so.statics(one, driven={"r": 0.3, "r.inner.insertion": 0.02, "r.outer.insertion": -0.01})
    area = [np.pi * (r**2 - hole**2) for r, hole in ((1.2e-3, 1e-3), (0.9e-3, 0.7e-3))]
    weight = 9.81 * 6450.0 * (0.12 * area[0] + 0.22 * area[1])
    assert found.driven["r"] == pytest.approx(weight, rel=1e-12)
    low = so.statics(one, driven={"r": 0.0, "r.inner.insertion": 0.02, "r.outer.insertion": -0.01})
    assert low.driven["r.inner.insertion"] == pytest.approx(found.driven["r.inner.insertion"], abs=1e-12)


def test_a_helical_wire_is_a_helix() -> None:
    """In axes that turn with the helix its strain is constant: (torsion, curvature)."""
    k, t, length = np.array([8.0, -6.0]), 40.0, 0.2
    twist = np.zeros((4, 4))
    twist[:3, :3] = np.cross(np.eye(3), np.array([t, *k]))
    twist[0, 3] = 1.0
    exact, errors = expm(length * twist)[:3, 3], []
    for n in (4, 8, 16):
        found = so.statics(wire(so.Curve(length, bending_y=k[0], bending_z=k[1], torsion=t, sections=n)))
        errors.append(np.linalg.norm(found.tip() - exact) / length)
    assert errors[2] < 1e-6
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.3)


def test_a_wire_whose_curvature_grows_is_a_clothoid() -> None:
    x, w = np.polynomial.legendre.leggauss(20)
    s = 0.1 * (x + 1.0)
    angle = 3.0 * s + 12.0 * s**2 / 0.4
    exact, errors = 0.1 * np.array([w @ np.cos(angle), 0.0, -w @ np.sin(angle)]), []
    for n in (4, 8):
        found = so.statics(wire(so.Curve(0.2, bending_y=(3.0, "15 1/m"), sections=n)))
        errors.append(np.linalg.norm(found.tip() - exact) / 0.2)
    assert errors[1] < 1e-7
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)


def test_weight_is_that_of_all_tubes() -> None:
    one = robot(tubes(), gravity=-9.81)
    area = [np.pi * (r**2 - hole**2) for r, hole in ((1.2e-3, 1e-3), (0.9e-3, 0.7e-3))]
    mass = 6450.0 * (0.13 * area[0] + 0.2 * area[1])
    assert float(one.engine.tree.inertia[:, 3, 3].sum()) == pytest.approx(mass, rel=1e-12)


ALONG = {
    "line": so.LineLoad(rod="r", force=(0.3, -0.2, 0.4), moment=(1e-3, 2e-3, -1e-3)),
    "follower": so.LineLoad(rod="r", force=(0.1, 0.2, 0.3), moment=(1e-3, 2e-3, -1e-3), frame="body"),
    "magnet": so.MagnetisedRod(rod="r", magnetisation=(1e5, 4e4, 0.0), field=(0.02, 0.01, -0.03)),
    "water": so.Fluid(density=1000.0),
}


@pytest.mark.parametrize("kind", ALONG)
def test_loads_per_length_follow_the_insertions(kind: str, rng) -> None:
    """As gravity: equilibria of a file with these insertions, and derivatives."""
    one, turns = robot(helices(), -9.81, along=ALONG[kind]), {"r.inner.rotation": 1.0}
    moved = so.statics(one, driven={"r.inner.insertion": 0.02, "r.outer.insertion": 0.005, **turns})
    given = so.statics(one.with_values({"links.r.tubes.inner.insertion": 0.22, "links.r.tubes.outer.insertion": 0.135}),
                       driven=turns)  # fmt: skip
    assert_allclose(moved.tip(), given.tip(), atol=1e-11)
    for name in ("r.inner.rotation", "r.inner.insertion", "r.outer.insertion"):
        assert moved.driven[name] == pytest.approx(given.driven[name], abs=1e-9)
    check_residual(one, random_state(one, rng))


def test_a_load_along_a_straight_wire_is_borne_by_its_insertion() -> None:
    body = so.Tubes({"wire": so.Tube(0.3, 5e-4, 0.0, NITINOL, insertion=0.2)})
    found = so.statics(
        robot(body, along=so.LineLoad(rod="r", force=(0.0, 0.0, 2.0))), driven={"r.wire.insertion": 0.05}
    )
    assert found.driven["r.wire.insertion"] == pytest.approx(-2.0 * 0.25, rel=1e-12)


def test_a_uniform_load_is_a_weight_on_insertions_too() -> None:
    """By the centreline, not by the potential: alike to the quadrature."""
    one = so.Tubes({"inner": so.Tube(0.3, 0.9e-3, 0.7e-3, NITINOL, insertion=0.2,
                                     curves=[so.Curve(0.1, bending_y=10.0, sections=2)])})  # fmt: skip
    line = 6450.0 * np.pi * (0.9e-3**2 - 0.7e-3**2)
    loaded = robot(one, along=so.LineLoad(rod="r", force=(0.0, 0.0, -9.81 * line)))
    forces = [so.statics(x, driven={"r.inner.insertion": 0.03}).driven["r.inner.insertion"]
              for x in (loaded, robot(one, -9.81))]  # fmt: skip
    unloaded = so.statics(robot(one), driven={"r.inner.insertion": 0.03}).driven["r.inner.insertion"]
    assert forces[0] - unloaded == pytest.approx(forces[1] - unloaded, rel=1e-5)


def test_loads_by_place_hold_for_the_insertions_of_the_file() -> None:
    one = robot(tubes(), along=so.LineLoad(rod="r", force=(0.0, 0.0, "(1 N/m)*s")))
    with pytest.raises(so.InputError, match="no load by X, s or L along tubes"):
        so.statics(one, driven={"r.inner.insertion": 0.01})


def test_straight_tubes_turn_in_each_other_as_shafts() -> None:
    """Shafts that are held at one end: sqrt(G/rho) pi/(2 L); transmissions make them longer."""
    other = so.Material(50e9, shear=8e9, density=4000.0)
    body = so.Tubes({
        "outer": so.Tube(0.15, 1.2e-3, 1e-3, NITINOL, insertion=0.1),
        "inner": so.Tube(0.1, 0.9e-3, 0.7e-3, other),
    })  # fmt: skip
    found = so.statics(robot(body)).linearize().frequencies
    for material, length in ((NITINOL, 0.15), (other, 0.1)):
        shaft = np.sqrt(material.shear_modulus / material.density) / (4.0 * length)
        assert np.abs(found - shaft).min() < 1e-3 * shaft


def test_inverse_turns_and_inserts_tubes_to_a_target() -> None:
    one, names = robot(tubes()), ["r.inner.rotation", "r.inner.insertion", "r.outer.rotation"]
    start = so.statics(one, driven={"r.inner.rotation": 0.3})
    target = so.statics(
        one, driven={"r.inner.rotation": 0.5, "r.inner.insertion": 0.01, "r.outer.rotation": -0.2}
    ).tip()
    found = so.inverse(one, {"r": target}, free=names, q0=start, driven={"r.inner.rotation": 0.3})
    assert_allclose(found.equilibrium.tip(), target, atol=1e-7)


def test_tubes_lean_on_obstacles() -> None:
    free = so.statics(robot(tubes()))
    p = free.robot.pose(free.q, "r", s=0.7)[:3, 3]
    place = np.eye(4)
    place[:3, 3] = p + np.array([np.copysign(4e-3, p[0]), 0.0, 0.0])
    ball = so.Surface(shape=so.Sphere(5e-3), at=place)
    post = so.Contact(["r"], [ball], law=so.ContactLaw(1e4))
    touched = so.statics(robot(tubes(), post=post))
    assert len(touched.contacts.gap)
    assert np.linalg.norm(touched.tip() - free.tip()) > 1e-3


def test_a_file_says_the_same_when_it_is_written(tmp_path) -> None:
    one = robot(helices())
    (tmp_path / "tubes.yaml").write_text(one.to_yaml())
    again = so.load(tmp_path / "tubes.yaml")
    assert again.coordinate_names == one.coordinate_names
    assert_allclose(so.statics(again).tip(), so.statics(one).tip(), atol=1e-14)
    changed = again.with_values({"materials.material.young": "60 GPa", "links.r.tubes.inner.insertion": "21 cm",
                                 "links.r.tubes.inner.curves[0].bending_y[1]": "0.2 1/cm"})  # fmt: skip
    assert changed.links[0].rod.members[1].curves[0].bending_y == (15.0, 20.0)
    assert changed.links[0].rod.members[0].material.young == 60e9
    assert changed.links[0].rod.length == pytest.approx(0.21)


def test_a_load_along_tubes_is_a_weight() -> None:
    one = so.Tubes({"inner": so.Tube(0.3, 0.9e-3, 0.7e-3, NITINOL, curves=[so.Curve(0.1, bending_y=10.0)])})
    line = 6450.0 * np.pi * (0.9e-3**2 - 0.7e-3**2)
    loaded = robot(one, along=so.LineLoad(rod="r", force=(0.0, 0.0, -9.81 * line)))
    assert_allclose(so.statics(loaded).tip(), so.statics(robot(one, gravity=-9.81)).tip(), atol=1e-12)


def test_tendons_in_tubes_are_refused() -> None:
    link = so.Link("r", tubes())
    with pytest.raises(so.ModelError, match="a rod, for actuators inside"):
        so.Robot(so.Description("r", (link,), actuators={"cable": so.Tendon((so.RouteSegment("r", y=0.0, z=0.0),))}))


def test_tubes_take_linear_materials_only():
    """Their sections are bent by the linear stiffness: a law of the material would be left out without a word."""
    tube = {"length": "20 cm", "radius": "1 mm", "inner_radius": 0, "material": "m"}
    material = {"young": 1e6, "poisson": 0.5, "density": 1100, "elasticity": "neo-hookean"}
    with pytest.raises(so.ModelError, match="expected a linear material, got one that is neo-hookean"):
        so.load({"sorosim": 1, "materials": {"m": material}, "links": {"t": {"tubes": {"inner": tube}}}})
