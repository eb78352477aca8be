"""Loads and actuators inside prefabs: names are those of the part, ends on the world are on its parent."""

import numpy as np

from sorosim.files import load

TEXT = {
    "sorosim": 1,
    "name": "two arms",
    "materials": {"rubber": {"young": "1 MPa", "poisson": 0.5, "density": 1000}},
    "prefabs": {
        "arm": {
            "links": {
                "rod": {
                    "joint": {"revolute": {"axis": [0, 1, 0]}},
                    "rod": {
                        "length": "20 cm", "section": {"circle": {"radius": "1 cm"}}, "material": "rubber",
                        "strain": {"bending": 2},
                    },
                },
                "tip": {"parent": "rod", "body": {"sphere": {"radius": "1 cm"}, "density": 1000}},
            },
            "actuators": {
                "air": {"chamber": {"rod": "rod", "y": 0, "z": "5 mm", "area": "1 cm^2"}},
                "muscle": {"moment": {"rod": "rod", "bending_y": 1}},
                "hold": {"servo": {"link": "rod", "stiffness": 1}},
            },
            "loads": {
                "wind": {"line": {"rod": "rod", "force": [0, 1, 0]}},
                "rope": {"spring": {"from": "tip", "to": "world", "stiffness": 3}},
                "knot": {"spring": {"from": {"link": "tip"}, "to": "hub", "stiffness": 3}},
                "water": {"fluid": {"density": 1000, "links": {"rod": {}, "tip": {"drag": 0.4}}}},
                "push": {"wrench": {"link": "tip", "force": [1, 0, 0]}},
                "touch": {"contact": {"between": "rod", "and": ["hub"], "stiffness": 1e5}},
            },
        }
    },
    "links": {"hub": {"joint": "free", "body": {"sphere": {"radius": "3 cm"}, "density": 1000}}},
    "parts": {"leg": {"prefab": "arm", "parent": "hub", "repeat": 2, "at": {"position": ["$i*(1 cm)", 0, 0]}}},
}  # fmt: skip


def test_names_inside_a_part_are_its_own():
    robot = load(TEXT)
    loads, actuators = robot.description.loads, robot.description.actuators
    assert loads["leg1_wind"].rod == "leg1_rod"
    assert list(loads["leg2_water"].links) == ["leg2_rod", "leg2_tip"]
    assert loads["leg2_water"].links["leg2_tip"].drag == (0.4, 0.4, 0.4)
    assert loads["leg1_push"].link == "leg1_tip"
    assert [one.link for one in (*loads["leg2_touch"].between, *loads["leg2_touch"].others)] == ["leg2_rod", "hub"]
    assert actuators["leg2_air"].path[0].rod == "leg2_rod"
    assert actuators["leg2_muscle"].rod == "leg2_rod"
    assert actuators["leg1_hold"].link == "leg1_rod"


def test_ends_of_springs_on_the_world_of_a_prefab_are_on_the_parent_of_the_part():
    loads = load(TEXT).description.loads
    for i in (1, 2):
        rope, knot = loads[f"leg{i}_rope"], loads[f"leg{i}_knot"]
        assert (rope.a.link, rope.b.link) == (f"leg{i}_tip", "hub")
        np.testing.assert_allclose(rope.b.at[:3, 3], [0.01 * i, 0.0, 0.0])
        # a name that the prefab does not know means what it means outside
        assert (knot.a.link, knot.b.link) == (f"leg{i}_tip", "hub")
        np.testing.assert_allclose(knot.b.at, np.eye(4))


def test_a_robot_of_such_parts_comes_back_from_its_text():
    from sorosim.files import dump, load_text

    robot = load(TEXT)
    again = load_text(dump(robot), "again")
    assert dump(again) == dump(robot)
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, robot.ndof)) * 0.1
    np.testing.assert_array_equal(robot.inverse_dynamics(q, qd, qdd=qdd), again.inverse_dynamics(q, qd, qdd=qdd))
