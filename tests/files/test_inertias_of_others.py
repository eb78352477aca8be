"""Inertias of files of other programs that no body has: rounded ones, wrong ones, and those of bases that stand."""

import numpy as np
import pytest
from helpers.robots import arrays_of
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import FileError, SorosimWarning
from sorosim.files import load, load_text
from sorosim.files.rigid.inertia import excess, nearest_possible, rounding

KEYS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
URDF = """<robot name="m">
<link name="base">{base}</link>
<link name="a"><inertial><origin xyz="0.3 0 0"/><mass value="1"/><inertia {inertia}/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
</robot>
"""
SDF = """<sdf version="1.9"><model name="m"><link name="base"/>
<joint name="w" type="fixed"><parent>world</parent><child>base</child></joint>
<link name="a"><inertial><pose>0.3 0 0 0 0 0</pose><mass>1</mass><inertia>{inertia}</inertia></inertial></link>
<joint name="j" type="revolute"><parent>base</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>
"""
pytest.importorskip("yourdfpy")

HINT = "inertia: mend in the `import` block takes the nearest that a body has"


def file_of(folder, moments, base="", sdf=False):
    """A pendulum about z, 0.3 m long, with the moments that are written."""
    given = dict(zip(KEYS, [*moments.split(), "0", "0", "0"], strict=False))
    path = folder / ("m.sdf" if sdf else "m.urdf")
    attributes = " ".join(f'{key}="{value}"' for key, value in given.items())
    elements = "".join(f"<{key}>{value}</{key}>" for key, value in given.items())
    path.write_text(SDF.format(inertia=elements) if sdf else URDF.format(base=base, inertia=attributes))
    return path


def possible(rng, flat=False):
    """Inertia (3, 3) of masses at random points, or of points in a plane."""
    points = rng.normal(size=(6, 3)) * 10.0 ** rng.uniform(-3, 1)
    if flat:
        points[:, 2] = 0.0
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    second = R @ points.T @ points @ R.T
    return np.trace(second) * np.eye(3) - second


@pytest.mark.parametrize("form", [".2f", ".4f", ".6f", ".3g", ".6g", ".3e", ".8e"])
def test_what_rounding_makes_of_flat_bodies_is_within_the_rounding_that_is_read_from_the_text(form, rng):
    found = 0
    for _ in range(300):
        inertia = possible(rng, flat=True)
        rows, columns = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
        # some programs leave out zeros at the end
        texts = [format(x, form) for x in inertia[rows, columns]]
        if "e" not in form and rng.random() < 0.5:
            texts = [format(float(text), ".15g") if float(text) else text for text in texts]
        written = np.zeros((3, 3))
        written[rows, columns] = written[columns, rows] = [float(text) for text in texts]
        over = excess(written)
        if not 0.0 < over < 0.05 * np.abs(np.diag(written)).max():  # those are not taken for rounded
            continue
        found += 1
        assert over <= rounding(texts[:3], texts[3:], 1.0, np.zeros(3))
    assert found > 30


def test_the_rounding_is_that_of_the_digits():
    def of(*moments):
        return rounding(moments, ["0", "0", "0"], 1.0, np.zeros(3))

    assert of("0.0200", "0.0200", "0.0400") == pytest.approx(1.5e-4, rel=0.2)
    assert of("0.02", "0.02", "0.0401") == pytest.approx(1.5e-4, rel=0.2)  # as its neighbours
    assert of("2e-2", "200E-4", "+.0401") == pytest.approx(1.5e-4, rel=0.2)
    assert of("0.000407893", "0.00179082", "0.00229528") == pytest.approx(0.5 * (1e-9 + 1e-8 + 1e-8), rel=0.2)
    assert of("1", "1", "3") == pytest.approx(0.05 * 3)  # few digits excuse no more than that
    assert rounding(["0", "0", "0"], ["0", "0", "1e-20"], 2.0, np.array([0.0, 0.1, 0.0])) == pytest.approx(
        2e-17
    )  # noise


def test_the_nearest_inertia_is_the_projection_on_those_that_bodies_have(rng):
    for _ in range(50):
        wrong = possible(rng)
        wrong -= rng.uniform(0.0, 1.5) * np.linalg.eigvalsh(wrong)[0] * np.eye(3)
        mended = nearest_possible(wrong)
        assert excess(mended) == 0.0
        scale = np.abs(wrong).max()
        # the way back to what was given makes no acute angle with any other body's
        for _ in range(20):
            other = possible(rng)
            assert np.sum((wrong - mended) * (other - mended)) < 1e-9 * scale * max(scale, np.abs(other).max())
        assert excess(wrong) > 0.0 or np.abs(mended - wrong).max() < 1e-9 * scale


@pytest.mark.parametrize("sdf", [False, True])
def test_an_impossible_inertia_is_refused_accepted_or_mended(tmp_path, sdf):
    path = file_of(tmp_path, "0.1 0.2 0.3003", sdf=sdf)
    with pytest.raises(FileError) as caught:
        load(path)
    assert str(caught.value).endswith(
        "inertial.inertia: expected no principal moment above the sum of the other two, got principal moments 0.1, "
        f"0.2, 0.3003; {HINT}, inertia: accept the numbers as they are"
    )
    robot = load(path, set={"import.inertia": "accept"})
    assert_allclose(robot.mass_matrix([0.4]), 0.3003 + 0.09)
    again = load_text(robot.description.text, "text.yaml")
    for a, b in zip(arrays_of(robot), arrays_of(again), strict=True):
        assert_array_equal(a, b)
    with pytest.warns(SorosimWarning, match=r"0\.1, 0\.2, 0\.3003 became 0\.1001, 0\.2001, 0\.3002, "):
        robot = load(path, set={"import.inertia": "mend"})
    assert_allclose(robot.mass_matrix([0.4]), 0.3002 + 0.09)


@pytest.mark.parametrize("sdf", [False, True])
@pytest.mark.parametrize(
    ("moments", "mended"),
    [("0.100 0.200 0.301", 0.301 - 1e-3 / 3), ("-1.8e-22 0 4.1e-18", 4.1e-18), ("0.0013 0.0013 0.0027", 8e-3 / 3)],
)
def test_what_is_within_the_rounding_is_mended_with_a_word(tmp_path, moments, mended, sdf):
    path = file_of(tmp_path, moments, sdf=sdf)
    with pytest.warns(SorosimWarning) as caught:
        robot = load(path)
    (message,) = (str(one.message) for one in caught)
    assert ": inertia that no body has, mended: link.a.inertial.inertia, line 3: principal moments " in message
    assert "within the rounding of its digits" in message
    assert robot.mass_matrix([0.0])[0, 0] - 0.09 == pytest.approx(mended, abs=1e-16)


def test_a_negative_moment_is_never_accepted(tmp_path):
    path = file_of(tmp_path, "-0.1 0.2 0.3")
    for settings in ({}, {"import.inertia": "accept"}):
        with pytest.raises(FileError) as caught:
            load(path, set=settings)
        assert str(caught.value).endswith(
            f"expected no negative principal moment, got principal moments -0.1, 0.2, 0.3; {HINT}"
        )
    with pytest.warns(SorosimWarning, match=r"-0\.1, 0\.2, 0\.3 became 0, 0\.25, 0\.25, "):
        load(path, set={"import.inertia": "mend"})


def test_links_that_are_fixed_to_each_other_have_to_be_possible_together(tmp_path):
    path = file_of(tmp_path, "0.1 0.2 0.3003")
    more = '<link name="b"><inertial><mass value="1"/><inertia {}/></inertial></link>'.format(
        " ".join(f'{key}="{1.0 if key[1] == key[2] else 0.0}"' for key in KEYS)
    )
    fixed = '<joint name="k" type="fixed"><parent link="a"/><child link="b"/></joint>'
    path.write_text(path.read_text().replace("</robot>", f"{more}{fixed}</robot>"))
    assert_allclose(load(path).mass_matrix([0.0]), 1.3003 + 0.09)


def test_a_base_without_mass_that_stands_may_have_any_inertia(tmp_path):
    base = '<inertial><mass value="0"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    path = file_of(tmp_path, "0.1 0.1 0.1", base=base)
    assert_allclose(load(path).mass_matrix([0.3]), 0.19)
    for settings in ({"import.at": "{position: [1, 0, 0]}"}, {"import.joint": "fixed"}, {"import.parent": "world"}):
        assert load(path, set=settings).ndof == 1
    with pytest.raises(FileError, match=r"link\.base\.inertial\.mass: expected a mass to its inertia, got 0"):
        load(path, set={"import.joint": "free"})
