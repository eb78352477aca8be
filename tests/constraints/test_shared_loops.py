"""Loops are compiled once for robots that differ in their loads alone, and anew where the tree is another one."""

from numpy.testing import assert_array_equal

import sorosim
from sorosim.files import with_values
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.view.interactive.pull import Pull


def test_loops_are_shared_with_a_robot_of_the_same_tree_and_no_other():
    robot = sorosim.load("fin_ray")
    assert Pull(robot).robot.engine.loops is robot.engine.loops
    loaded = robot.with_loads(tip=Wrench(robot.links[-1].name, 0.3, force=[1.0, 0.0, 0.0]))  # at a node of its own
    assert loaded.engine.loops is not robot.engine.loops
    path, value = "parameters.wall.length", "3.1 cm"
    longer, fresh = with_values(robot, {path: value}), sorosim.load("fin_ray", set={path: value})
    assert longer.engine.loops is not robot.engine.loops
    for one, other in zip(longer.engine.loops, fresh.engine.loops, strict=True):
        assert_array_equal(one, other)
    assert (longer.engine.loops.row_scale != robot.engine.loops.row_scale).any()
