"""Handles of parts: they are where their numbers say, and a drag changes what the file says by what it is."""

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import SorosimError
from sorosim.base.problems import at_path
from sorosim.files import bundled_robots
from sorosim.files.bundled import bundled_file
from sorosim.files.handles import axis_by_difference, dotted_path, handles_of, point_of, pose_of, written_at
from sorosim.files.yaml_reader import read_text

BLOCKS = ("links", "loops", "couplings", "actuators", "loads", "sensors")


def parts_of(robot):
    data = robot.description.document.expanded.data
    return [(block, name) for block in BLOCKS for name in data.get(block) or {}]


def one_of_each(robot):
    """A handle for each number that kinds declare, which is its own in the file, with its part and its index there."""
    seen, out = set(), []
    for part in parts_of(robot):
        for k, handle in enumerate(handles_of(robot, part)):
            kind = tuple(key for key in handle.numbers[0].path[2:] if not isinstance(key, int))
            if (part[0], kind) not in seen:
                seen.add((part[0], kind))
                out.append((part, k, handle))
    return out


@pytest.mark.parametrize("name", bundled_robots())
def test_handles_of_bundled_robots_follow_their_numbers(name):
    """A number that is set anew moves its handle by what the handle says, in the world, at the same coordinates.

    A handle is linear in its numbers; that of a bent rod's end is to the first order in h, which is 1e-6 of the length.
    """
    robot = sorosim.load(name)
    file = robot.description.document.file
    data = read_text(bundled_file(name).read_text(encoding="utf-8"), file).data
    q, tried = np.zeros(robot.ndof), 0
    for part, k, handle in one_of_each(robot):
        for number, own in zip(handle.numbers, handle.axes.T, strict=True):
            written = written_at(robot, number, data, file)
            if written.why or handle.along:
                continue
            assert written.text(number.value) in str(at_path(data, written.path)) or number.value == 0.0
            h = 1e-6 * max(abs(number.value), 1e-2)
            try:
                other = robot.with_values({dotted_path(written.path): number.value + h})
            except SorosimError:  # other parts do not fit it
                continue
            moved = point_of(other, handles_of(other, part)[k], q) - point_of(robot, handle, q)
            is_own = written.path == number.path
            axis = own if is_own else axis_by_difference(robot, part, k, written.path, number.value, q)
            R = pose_of(robot, handle, q)[:3, :3]
            np.testing.assert_allclose(moved / h, R @ axis, atol=1e-5, err_msg=f"{part} {written.path}")
            tried += 1
    assert tried or name in ("concentric_tubes",)
