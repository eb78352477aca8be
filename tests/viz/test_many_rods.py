"""Robots of many rods: coarser surfaces in pages, which say so."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose

from sorosim import export_html
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.geometry import Geometry
from sorosim.view.viz.visuals import COARSE, FINE, LEAST_ALONG, LEAST_AROUND, PAGE_POINTS, coarsened
from sorosim.view.viz.web import MOST_PARTS


@pytest.fixture(scope="module")
def many():
    rod = Rod((Division(0.3, Circle(0.005), Material(1e6, poisson=0.5, density=1e3), Strain(bending_y=1)),))
    return Robot(Description("many", tuple(Link(f"rod{i}", rod) for i in range(MOST_PARTS + 20))))


def test_few_rods_are_as_fine_as_ever_and_many_have_no_more_points_than_a_page_takes(many):
    assert coarsened([cable_manipulator()], FINE, PAGE_POINTS) == FINE
    along, around = coarsened([many], FINE, PAGE_POINTS)
    assert along * around * len(many.links) <= PAGE_POINTS
    assert along >= LEAST_ALONG
    assert around >= LEAST_AROUND
    assert coarsened([many] * 100, FINE, PAGE_POINTS) == (LEAST_ALONG, LEAST_AROUND)


def test_a_page_of_many_rods_draws_neighbours_at_once_and_says_what_it_leaves_out(many, tmp_path):
    t = np.linspace(0.0, 60.0, 7)
    run = SimpleNamespace(robot=many, t=t, q=np.zeros((7, many.ndof)), u=np.zeros((7, 0)))
    export_html(tmp_path / "many.html", [run])
    text = (tmp_path / "many.html").read_text(encoding="utf-8")
    motion = json.loads(re.search(r'id="motion">(.*?)</script>', text, re.S)[1])
    along, around = coarsened([many], COARSE, PAGE_POINTS)
    assert motion["detail"] == f"{len(motion['times'])} of 1801 states, {along} sections a rod, {around} sides"
    geometry = Geometry(many, along, around)
    assert [part["indexCount"] for part in motion["parts"]] == [sum(part.faces.size for part in geometry.parts)]


@pytest.mark.parametrize("least", [0.0, 0.02])
def test_points_and_normals_are_poses_times_constants(least):
    robot, rng = cable_manipulator(), np.random.default_rng(3)
    geometry = Geometry(robot, 12, 8)
    shape = geometry.at(0.3 * rng.normal(size=robot.ndof), least)
    grown = np.maximum(least - geometry.half_width, 0.0)[:, None] * geometry.growth
    g = shape.g[geometry.station]
    expected = (g[:, :3, :3] @ (geometry.local + grown)[..., None])[..., 0] + g[:, :3, 3]
    assert_allclose(shape.points, expected, rtol=0, atol=1e-15)
    assert_allclose(np.linalg.norm(shape.normals, axis=1), 1.0, rtol=0, atol=1e-12)
