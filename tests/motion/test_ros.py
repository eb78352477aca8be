"""The node of ROS 2 in the documents, moved without ROS: stand-ins for its messages take what ROS would take."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import sorosim

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_to" / "join_other_programs.md"


def message(**kinds):
    """A class of messages whose fields have these types, and no others."""

    class Message:
        __slots__ = tuple(kinds)

        def __init__(self):
            for name, kind in kinds.items():
                object.__setattr__(self, name, kind() if isinstance(kind, type) else [])

        def __setattr__(self, name, value):
            kind = kinds[name]
            if isinstance(kind, list):  # a sequence of these
                assert isinstance(value, list)
                assert all(isinstance(entry, kind[0]) for entry in value)
            else:
                assert isinstance(value, kind), (name, value)
            object.__setattr__(self, name, value)

    return Message


Time = message(sec=int, nanosec=int)
Header = message(stamp=Time, frame_id=str)
Point, Quaternion = message(x=float, y=float, z=float), message(x=float, y=float, z=float, w=float)
Pose = message(position=Point, orientation=Quaternion)
PoseStamped = message(header=Header, pose=Pose)
JointState = message(header=Header, name=[str], position=[float], velocity=[float], effort=[float])
Float64MultiArray = message(data=[float])


class Node:
    """Stand-in for a node: it keeps what is published, subscribed and said."""

    def __init__(self, name):
        self.published, self.subscribed, self.timers, self.said = {}, {}, [], []

    def create_publisher(self, kind, topic, depth):
        sent = self.published[topic] = []

        def publish(message):
            assert isinstance(message, kind)
            sent.append(message)

        return SimpleNamespace(publish=publish)

    def create_subscription(self, kind, topic, callback, depth):
        self.subscribed[topic] = callback

    def create_timer(self, period, callback):
        self.timers.append((period, callback))

    def get_logger(self):
        return SimpleNamespace(warning=self.said.append, error=self.said.append)

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=Time))


@pytest.fixture
def node(monkeypatch):
    stand_ins = {
        "rclpy": {}, "rclpy.node": {"Node": Node}, "geometry_msgs.msg": {"PoseStamped": PoseStamped},
        "sensor_msgs.msg": {"JointState": JointState}, "std_msgs.msg": {"Float64MultiArray": Float64MultiArray},
    }  # fmt: skip
    for name, contents in stand_ins.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setitem(sys.modules, name.partition(".")[0], ModuleType(name.partition(".")[0]))
    (text,) = re.findall(r"^```python\n(\"\"\"A node of ROS 2.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len([line for line in text.splitlines() if line.strip()]) <= 50
    names = {"__name__": "node"}
    exec(compile(text, "node.py", "exec"), names)
    return names["RobotNode"]


def inputs(values):
    given = Float64MultiArray()
    given.data = values
    return given


def test_the_node_publishes_the_motion_of_a_stepper(node):
    robot = sorosim.load("cable_manipulator")
    moved, sim, u = node(robot), sorosim.Stepper(robot, 0.01), [1.0, 0.0, 0.0, 0.0, 2.0]
    moved.subscribed["inputs"](inputs(u))
    ((period, move),) = moved.timers
    assert period == 0.01
    sim.reset()
    for k in range(3):
        move()
        state = sim.step(u)
        states, tip = moved.published["joint_states"][k], moved.published["tip"][k]
        assert states.position == state.q.tolist()
        assert states.velocity == state.qd.tolist()
        assert states.name == list(robot.coordinate_names)
        g, turned = robot.pose(state.q, "arm"), tip.pose.orientation
        assert [tip.pose.position.x, tip.pose.position.y, tip.pose.position.z] == g[:3, 3].tolist()
        assert np.isclose(turned.x**2 + turned.y**2 + turned.z**2 + turned.w**2, 1.0)
        assert np.isclose(1.0 - 2.0 * (turned.y**2 + turned.z**2), g[0, 0])
        assert tip.header.frame_id == "world"


def test_the_node_says_what_it_does_not_take(node):
    moved = node(sorosim.load("cable_manipulator"))
    moved.subscribed["inputs"](inputs([1.0, 2.0]))
    assert moved.said == ["inputs: expected 5 numbers, got 2"]
    moved.subscribed["inputs"](inputs([float("nan")] * 5))
    moved.timers[0][1]()
    assert "finite" in moved.said[-1]
    assert not moved.published["tip"]
