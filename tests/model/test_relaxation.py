"""Materials that relax: what a file says of them, equilibria at both moduli, and mistakes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim.files import dump, load_text
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.relaxation import Relaxation, RelaxationTerm

FILE = """sorosim: 1
gravity: [0, 0, 0]
materials:
  gel:
    young: 1 MPa
    poisson: 0.5
    density: 1000 kg/m^3
    relaxation: {terms: [{share: 0.3, time: 50 ms}, {share: 0.1, time: 2 s}]}
links:
  rod: {rod: {length: 20 cm, section: {circle: {radius: 1 cm}}, material: gel, strain: {bending: 1, elongation: 0}}}
loads:
  tip: {wrench: {link: rod, force: [10 N, 0, 0]}}
"""
TERMS = "{terms: [{share: 0.3, time: 50 ms}, {share: 0.1, time: 2 s}]}"
STRESS = 10.0 / (np.pi * 0.01**2)


def with_relaxation(text):
    return load_text(FILE.replace(TERMS, text), "gel.yaml")


@pytest.mark.parametrize(
    ("moduli", "equilibria", "modulus"),
    [
        ("instantaneous", "relaxed", 0.6e6),
        ("instantaneous", "instantaneous", 1e6),
        ("relaxed", "relaxed", 1e6),
        ("relaxed", "instantaneous", 1e6 / 0.6),
    ],
)
def test_equilibria_have_the_moduli_that_the_file_says(moduli, equilibria, modulus):
    robot = with_relaxation(TERMS[:-1] + f", moduli: {moduli}, equilibria: {equilibria}}}")
    found = sorosim.statics(robot)
    assert found.q[-1] == pytest.approx(STRESS / modulus, rel=1e-10)
    assert f"{equilibria} moduli" in found.message
    # functions of a single state have them too
    force = robot.internal_force(found.q, np.zeros(robot.ndof), u=None)
    assert -force[-1] == pytest.approx(10.0 * 0.2, rel=1e-10)
    assert robot.energy(found.q, np.zeros(robot.ndof)).elastic == pytest.approx(
        0.5 * found.q[-1] * 10.0 * 0.2, rel=1e-10
    )


def test_the_springs_add_up_to_the_given_modulus():
    # beside the elements and in them: the instantaneous stiffness; alone the relaxed one
    for moduli, instantaneous in (("instantaneous", 1e6), ("relaxed", 1e6 / 0.6)):
        for equilibria in ("relaxed", "instantaneous"):
            relaxation = Relaxation(
                (RelaxationTerm(0.3, 0.05), RelaxationTerm(0.1, 2.0)), moduli=moduli, equilibria=equilibria
            )
            of_equilibria = 1e6 * relaxation.equilibrium_ratio
            parts = of_equilibria * np.array(relaxation.ratios)
            assert_allclose(parts, instantaneous * np.array([0.6, 0.3, 0.1]), rtol=1e-14)
            assert of_equilibria == pytest.approx(parts[0] if equilibria == "relaxed" else parts.sum(), rel=1e-14)


def test_the_file_comes_back():
    robot = with_relaxation("{terms: [{share: 0.3, time: 50 ms}], moduli: relaxed, equilibria: instantaneous}")
    again = load_text(dump(robot), "again.yaml")
    (one,), (other,) = ([link.rod.divisions[0].material for link in r.links] for r in (robot, again))
    assert one.relaxation == other.relaxation
    assert other.relaxation == Relaxation((RelaxationTerm(0.3, 0.05),), moduli="relaxed", equilibria="instantaneous")
    assert load_text(FILE, "gel.yaml").links[0].rod.divisions[0].material.relaxation.equilibria == "relaxed"


def test_its_numbers_have_paths_and_units():
    robot = load_text(FILE, "gel.yaml")
    changed = robot.with_values({"materials.gel.relaxation.terms[0].share": 0.5})
    assert sorosim.statics(changed).q[-1] == pytest.approx(STRESS / 0.4e6, rel=1e-10)
    assert sorosim.scalars(robot)["materials.gel.relaxation.terms[1].time"] == 2.0


def test_derivatives_by_its_numbers_match_differences(rng):
    robot, path = load_text(FILE, "gel.yaml"), "materials.gel.relaxation.terms[0].share"
    q, zero = 0.2 * rng.standard_normal(robot.ndof), np.zeros(robot.ndof)
    found = sorosim.sensitivities(robot, [path]).internal_force(q, zero)
    ends = (robot.with_values({path: 0.3 + d}).internal_force(q, zero) for d in (1e-3, -1e-3))
    assert_allclose(np.ravel(found), np.subtract(*ends) / 2e-3, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "{terms: [{share: 0.7, time: 1 s}, {share: 0.3, time: 2 s}]}",
            8,
            "shares that sum to less than 1, got 1; what is left",
        ),
        ("{terms: [{share: 1.2, time: 1 s}]}", 8, "shares that sum to less than 1, got 1.2"),
        ("{terms: [{share: 0, time: 1 s}]}", 8, "share: expected"),
        ("{terms: [{share: 0.3, time: -50 ms}]}", 8, "time: expected"),
        ("{terms: [{share: 0.3, time: 50 mm}]}", 8, "time: expected"),
        ("{terms: [{share: 0.3, time: 50 ms}], moduli: long}", 8, "instantaneous"),
        ("{terms: []}", 8, "one term or several, got an empty list"),
        ("{share: 0.3, time: 50 ms}", 8, "terms"),
    ],
)
def test_each_mistake_is_one_error_with_its_line(text, line, words):
    with pytest.raises(sorosim.SorosimError) as caught:
        with_relaxation(text)
    message = str(caught.value)
    assert f"gel.yaml:{line}:" in message
    assert words in message
    assert "relaxation" in message


def test_hyperelastic_materials_feeding_joints_and_tubes_refuse_it():
    with pytest.raises(sorosim.SorosimError, match="a linear material, got one that is neo-hookean; leave out"):
        load_text(FILE.replace("poisson: 0.5", "poisson: 0.5\n    elasticity: neo-hookean"), "gel.yaml")
    relaxation = Relaxation((RelaxationTerm(0.3, "50 ms"),))
    with pytest.raises(sorosim.ModelError, match="a linear material"):
        Material(1e6, poisson=0.5, density=1000.0, elasticity="neo-hookean", relaxation=relaxation)
    fed = FILE.replace("rod: {rod: {", "rod: {joint: {feed: {}}, rod: {")
    with pytest.raises(sorosim.SorosimError, match="an elastic material, got one that relaxes"):
        load_text(fed, "gel.yaml")
    tubes = sorosim.load("concentric_tubes").description.text
    assert "density: 6450 kg/m^3}" in tubes
    with pytest.raises(sorosim.SorosimError, match="an elastic material, got one that relaxes"):
        load_text(tubes.replace("density: 6450 kg/m^3}", f"density: 6450 kg/m^3, relaxation: {TERMS}}}"), "tubes.yaml")


def test_the_doctor_counts_relaxation_as_damping():
    elastic = FILE.replace(f"    relaxation: {TERMS}\n", "")
    codes = [{one.code for one in sorosim.examine(load_text(text, "gel.yaml"))} for text in (FILE, elastic)]
    assert "material.undamped" not in codes[0]
    assert "material.undamped" in codes[1]
