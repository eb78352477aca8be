"""Sections with holes: area integrals against sums and quadrature, torsion against closed forms and finite elements."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.sparse.linalg import spsolve
from scipy.spatial import Delaunay

import sorosim
from sorosim.base.complex_step import varying
from sorosim.base.errors import FileError, ModelError
from sorosim.files import dump, load_text
from sorosim.mechanics.model.section import Circle, Ellipse, Hole, HollowCircle, Rectangle

ARM = """
sorosim: 1
name: arm
gravity: [0, 0, 0]
materials: {silicone: {young: 200 kPa, poisson: 0.49, density: 1080 kg/m^3, damping: 1 kPa*s}}
links:
  arm:
    rod:
      length: 5 cm
      section: {circle: {radius: 12.5 mm, holes: [{circle: {radius: 3 mm}, y: 8.5 mm, repeat: 3}]}}
      material: silicone
      strain: {torsion: 1, bending: 2, elongation: 1, shear: 1}
actuators:
  a: {chamber: {rod: arm, hole: 0}}
  b: {chamber: {rod: arm, hole: 1}}
  c: {chamber: {rod: arm, hole: 2}}
"""


def integrals(section, n=1001):
    """A, int z^2, int y^2, int y z by counting cells."""
    outer = section.outline([0.0], 1.0, 720)[0]
    half = np.abs(outer).max(axis=0)
    y, z = (np.linspace(-h, h, n)[:-1] + h / (n - 1) for h in half)
    Y, Z = np.meshgrid(y, z, indexing="ij")
    points = np.column_stack([Y.ravel(), Z.ravel()])
    far, edge, _ = section.edge(points, np.zeros(len(points)), 1.0)
    inside = far < edge
    for void in section.voids:
        far, edge, _ = void.shape.edge((points - void.centre) @ void.axes, np.zeros(len(points)), 1.0)
        inside &= far > edge
    y, z = points[inside].T
    cell = 4.0 * half[0] * half[1] / (n - 1) ** 2
    return cell * np.array([len(y), (z * z).sum(), (y * y).sum(), (y * z).sum()])


SECTIONS = {
    "three chambers": Circle(0.0125, holes=[Hole(Circle(0.003), y=0.008, repeat=3)]),
    "slots": Circle(0.01, holes=[Hole(Rectangle(0.002, 0.004), y=0.006, repeat=4)]),
    "a slender slot": Circle(0.01, holes=[Hole(Rectangle(0.013, 0.002), angle=0.0)]),
    "two in a rectangle": Rectangle(0.03, 0.01, holes=[Hole(Ellipse(0.006, 0.003), y=0.008, repeat=2)]),
    "a square hole, turned": Ellipse(0.03, 0.02, holes=[Hole(Rectangle(0.006, 0.006), angle=0.4)]),
    "two kinds": Ellipse(
        0.03, 0.02, holes=[Hole(Circle(0.002), y=0.01, repeat=2), Hole(Circle(0.003), z=0.005, repeat=2)]
    ),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_area_integrals_are_those_of_what_is_left(name):
    a = SECTIONS[name].properties([0.0, 0.5], 1.0)
    found = integrals(SECTIONS[name])
    # cells along boundaries: a part of some 1 / 1000
    assert_allclose([a.A[1], a.Iy[1], a.Iz[1]], found[:3], rtol=6e-3)
    assert_allclose(a.Jp, a.Iy + a.Iz, rtol=1e-14)
    assert abs(found[3]) < 6e-3 * found[2]


def test_hand_formulas_of_a_circle_with_three_holes():
    R, r, c = 0.0125, 0.003, 0.008
    a = SECTIONS["three chambers"].properties([0.0], 1.0)
    second = np.pi / 4 * R**4 - 3 * np.pi / 4 * r**4 - 1.5 * np.pi * r**2 * c**2
    assert_allclose([a.A[0], a.Iy[0], a.Iz[0]], [np.pi * (R**2 - 3 * r**2), second, second], rtol=1e-14)


def test_torsion_around_a_hole_in_the_middle_is_in_closed_form():
    tube, drilled = HollowCircle(0.02, 0.012), Circle(0.02, holes=[Hole(Circle(0.012))])
    for one, other in zip(tube.properties([0.0], 1.0), drilled.properties([0.0], 1.0), strict=True):
        assert_allclose(other, one, rtol=1e-12)
    a, b, q = 0.02, 0.01, 0.6
    similar = Ellipse(2 * a, 2 * b, holes=[Hole(Ellipse(2 * a * q, 2 * b * q))])
    assert_allclose(similar.properties([0.0], 1.0).Jt, np.pi * a**3 * b**3 / (a**2 + b**2) * (1 - q**4), rtol=1e-10)


def test_small_holes_take_twice_their_shear_energy_from_the_torsion_constant():
    """In uniform shear a round hole of radius r lets as much energy be stored beside it as was in it."""
    R, c = 1.0, 0.5
    for r in (0.02, 0.002):
        Jt = Circle(R, holes=[Hole(Circle(r), y=c, repeat=4)]).properties([0.0], 1.0).Jt[0]
        lost = 4 * 2 * np.pi * r**2 * c**2
        assert_allclose(np.pi / 2 * R**4 - Jt, lost, rtol=10 * (r / c) ** 2)  # the next order


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("r", [0.3, 0.1, 0.01, 1e-4])
def test_torsion_constants_fall_as_holes_near_the_edge(r):
    """However thin the wall is, they are below the moment of what is left, and above that of the round core."""
    walls = [0.5, 0.1, 0.02, 1e-3, 1e-4, 1e-6]
    found = [
        Circle(1.0, holes=[Hole(Circle(r), y=1.0 - r * (1.0 + wall), repeat=4)]).properties([0.0], 1.0)
        for wall in walls
    ]
    part = np.array([1.0 - a.Jt[0] / a.Jp[0] for a in found])
    assert (np.diff(part) > 0.0).all()
    core = np.array([(1.0 - r * (2.0 + wall)) ** 4 for wall in walls])
    assert (np.array([a.Jt[0] for a in found]) > np.pi / 2 * core).all()


@pytest.mark.parametrize("thickness", [0.9, 0.3, 1e-2, 1e-4])
def test_torsion_around_a_confocal_hole_is_in_closed_form(thickness):
    """In elliptic coordinates y + i z = c cosh(x + i t); a hole without thickness is a slit from focus to focus."""
    c, outer, inner = 0.01, 1.0, np.arctanh(thickness * np.tanh(1.0))
    area = np.pi * c**2 * np.cosh(inner) * np.sinh(inner)
    both = np.array([[np.cosh(2 * x), np.sinh(2 * x)] for x in (outer, inner)])
    C, D = np.linalg.solve(both, [c**2 / 4, c**2 / 4])
    level = c**2 / 4 * (np.cosh(2 * outer) - np.cosh(2 * inner))  # of Prandtl's stress function in the hole
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = (inner + 0.5 * (outer - inner) * (1.0 + x))[:, None], (0.5 * (outer - inner) * w)[:, None]
    t = np.linspace(0.0, 2.0 * np.pi, 64, endpoint=False)
    stress = c**2 / 4 * (np.cosh(2 * outer) - np.cosh(2 * x)) + 0.0 * t
    stress = stress + (C * np.cosh(2 * x) + D * np.sinh(2 * x) - c**2 / 4) * np.cos(2 * t)
    stretch = c**2 / 2 * (np.cosh(2 * x) - np.cos(2 * t))
    J = 2.0 * (w * stress * stretch).sum() * 2.0 * np.pi / len(t) + 2.0 * level * area
    whole, hole = (Ellipse(2 * c * np.cosh(x), 2 * c * np.sinh(x)) for x in (outer, inner))
    found = Ellipse(whole.y, whole.z, holes=[Hole(hole)]).properties([0.0], 1.0)
    assert_allclose(found.Jt, J, rtol=1e-10)


@pytest.mark.parametrize("shape", [Ellipse, Rectangle])
@pytest.mark.parametrize("turn", [0.0, 0.5 * np.pi])
def test_slots_without_width_leave_what_a_slit_does(shape, turn):
    limit = Circle(0.0125, holes=[Hole(Ellipse(8e-3, 1e-9), angle=turn)]).properties([0.0], 1.0).Jt[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [
            Circle(0.0125, holes=[Hole(shape(8e-3, 8e-3 / ratio), angle=turn)]).properties([0.0], 1.0).Jt[0]
            for ratio in (20.0, 200.0, 2000.0)
        ]
    assert_allclose(found, limit, rtol=3e-3)
    assert abs(found[2] - limit) < 0.2 * abs(found[0] - limit)


def torsion_by_elements(section, n):
    """Torsion constant by linear finite elements of the warping, which is above the right one."""
    outer = section.outline([0.0], 1.0, 4 * n)[0]
    size = np.abs(outer).max()
    step = 2.0 * np.pi * size / (4 * n)
    grid = np.arange(-size, size + step, step)
    points = np.column_stack([x.ravel() for x in np.meshgrid(grid, grid)]) + 1e-3 * step
    far, edge, _ = section.edge(points, np.zeros(len(points)), 1.0)
    keep = far < edge - 0.4 * step
    lines = []
    for void in section.voids:
        far, edge, _ = void.shape.edge((points - void.centre) @ void.axes, np.zeros(len(points)), 1.0)
        keep &= far > edge + 0.4 * step
        lines.append(void.shape.outline([0.0], 1.0, 2 * n)[0] @ void.axes.T + void.centre)
    p = np.concatenate([points[keep], outer, *lines])
    t = Delaunay(p).simplices
    middle = p[t].mean(axis=1)
    for void in section.voids:
        far, edge, _ = void.shape.edge((middle - void.centre) @ void.axes, np.zeros(len(middle)), 1.0)
        t, middle = t[far > edge], middle[far > edge]
    a, b, c = p[t].swapaxes(0, 1)
    double = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    t, middle, a, b, c, double = (x[np.abs(double) > 1e-9 * size**2] for x in (t, middle, a, b, c, double))
    slope = np.stack([np.stack([(q - r)[:, 1], (r - q)[:, 0]], axis=1) for q, r in ((b, c), (c, a), (a, b))], axis=1)
    slope /= double[:, None, None]
    area = np.abs(double) / 2
    blocks = np.einsum("eia,eja,e->eij", slope, slope, area)
    i, j = np.repeat(t, 3, axis=1).ravel(), np.tile(t, 3).ravel()
    K = sp.coo_matrix((blocks.ravel(), (i, j))).tocsr()
    turn = np.stack([-middle[:, 1], middle[:, 0]], axis=1)
    load = np.zeros(len(p))
    np.add.at(load, t, np.einsum("eia,ea,e->ei", slope, turn, area))
    used = np.unique(t)[1:]
    w = np.zeros(len(p))
    w[used] = spsolve(K[used][:, used].tocsc(), load[used])
    return section.properties([0.0], 1.0).Jp[0] - w @ load


@pytest.mark.parametrize("name", SECTIONS)
def test_torsion_constants_are_those_of_finite_elements(name):
    section = SECTIONS[name]
    found = section.properties([0.0], 1.0).Jt[0]
    coarse, fine = (torsion_by_elements(section, n) for n in (16, 32))
    # the error of linear elements falls fourfold, of polygons and corners as well or more slowly
    assert_allclose(found, fine - (coarse - fine) / 3.0, rtol=0.015)
    assert found < section.properties([0.0], 1.0).Jp[0]


@pytest.mark.parametrize(
    "shape", [Circle, lambda r: Ellipse(2 * r, r / 5), lambda r: Rectangle(r / 5, r)], ids=["round", "slot", "across"]
)
def test_properties_can_be_differentiated_by_a_size_of_a_hole(shape):
    def properties(r, y):
        with varying():
            hole = Hole(shape(r), y=y, repeat=3)
            return Circle(0.0125, holes=[hole]).properties([0.0, 0.5], 1.0)

    base, h = properties(0.003, 0.008), 1e-6
    for index in (0, 1):
        step = np.array([1.0, 0.0]) if index == 0 else np.array([0.0, 1.0])
        by = properties(*(np.array([0.003, 0.008]) + 1e-40j * step))
        ends = [properties(*(np.array([0.003, 0.008]) + s * h * step)) for s in (1, -1)]
        for part, two, one in zip(by[:5], *(end[:5] for end in ends), strict=True):
            difference = (np.real(two) - np.real(one)) / (2 * h)
            assert_allclose(np.imag(part) / 1e-40, difference, rtol=1e-5, atol=1e-9 * np.abs(base[0]).max())


@pytest.mark.parametrize(
    ("holes", "message"),
    [
        ([Hole(Circle(0.003), y=0.01, repeat=3)], "holes[0]: expected a hole inside of the section, got one that meets "
         "the edge at s = 0, by 0.5 mm; leave a wall between"),
        ([Hole(Circle(0.003), y=0.003, repeat=3)], "holes[0]: expected holes apart from each other, got one that meets "
         "the next one at s = 0, by "),
        ([Hole(Circle(0.003), y=0.005)], "holes: expected a section whose centroid is on the axis of the rod, got one "
         "at y = -0.3056 mm, z = 0 mm; "),
        ([Hole(Circle(0.003), y=0.005, z=0.005, repeat=2)], "holes: expected principal axes along y and z, got axes "
         "turned by -45 deg; "),
    ],
)  # fmt: skip
def test_holes_that_cannot_be_are_refused(holes, message):
    with pytest.raises(ModelError) as caught:
        Circle(0.0125, holes=holes)
    assert message in str(caught.value)


def test_a_chamber_that_fills_a_hole_bends_its_rod_by_the_hand_formula():
    robot = load_text(ARM, "arm")
    R, r, c, E, p = 0.0125, 0.003, 0.0085, 200e3, 20e3
    A, second = np.pi * r**2, np.pi / 4 * R**4 - 3 * np.pi / 4 * r**4 - 1.5 * np.pi * r**2 * c**2
    eq = sorosim.statics(robot, u={"a": p})
    strain = robot.strain(eq.q, "arm", s=0.4)
    area = np.pi * (R**2 - 3 * r**2)
    # N = p A/(E area) and kappa = p A c/(E I), about z: the chamber at +y bends the rod to -y
    assert_allclose(
        strain[[1, 2, 3]], [0.0, -p * A * c / (E * second), 1.0 + p * A / (E * area)], rtol=1e-12, atol=1e-13
    )
    # the other two are turned by 120 degrees each
    turned = [robot.strain(sorosim.statics(robot, u={name: p}).q, "arm")[1:3] for name in "bc"]
    angles = [np.arctan2(k[1], k[0]) for k in (strain[1:3], *turned)]
    assert_allclose(np.mod(np.diff(angles), 2 * np.pi), 2 * np.pi / 3, rtol=1e-10)


def test_holes_come_back_from_files_and_are_drawn():
    robot = load_text(ARM, "arm")
    again = load_text(dump(robot), "arm")
    assert again.links[0].rod.divisions[0].section == robot.links[0].rod.divisions[0].section
    assert robot.mass == pytest.approx(1080 * np.pi * (0.0125**2 - 3 * 0.003**2) * 0.05, rel=1e-13)
    lines = robot.links[0].rod.divisions[0].section.inner_outlines([0.0], 0.05, 16)
    assert_allclose(lines[0][0].mean(axis=0), [0.0085, 0.0], atol=1e-15)
    assert len(lines) == 3
    with pytest.raises(FileError, match=r"hole: expected a hole of the section of rod 'arm', got number 3; it has 3"):
        load_text(ARM.replace("hole: 2", "hole: 3"), "arm")
    with pytest.raises(FileError, match=r"expected the key 'area', got nothing"):
        load_text(ARM.replace("hole: 2", "y: 0, z: 1 mm"), "arm")
    with pytest.raises(FileError, match=r"expected y or hole, one of them, got both"):
        load_text(ARM.replace("hole: 2", "hole: 2, y: 0, z: 1 mm"), "arm")
