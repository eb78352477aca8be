"""The fuzz of `make fuzz`, reduced: random robots end with finite numbers or one error, and its own guards work."""

import sys

import pytest
from helpers.fuzz import CRASH, OK, describe, examine, main, outcomes, report, text_of
from helpers.kinds import CLOSING, JOINT_KINDS
from helpers.random_documents import document

from sorosim.base.methods import METHODS
from sorosim.files import load_text

SEEDS = range(5, 9)


def test_four_robots_end_with_finite_numbers_or_one_error():
    found = [examine(seed) for seed in SEEDS]
    assert not [describe(one, True) for one in found if one.crashed]
    for stage in ("statics", "motion"):
        assert sum(one.kinds[stage] == OK for one in found) >= len(found) // 2, [one.messages for one in found]


def test_robots_depend_on_their_seeds_alone_and_are_legal():
    for seed in range(100, 140):
        text = text_of(document(seed))
        assert text == text_of(document(seed))
        assert load_text(text, "robot.yaml").ndof <= 60


def test_every_kind_of_part_is_drawn():
    documents = [document(seed) for seed in range(400)]

    def kinds(block):
        return {next(iter(x)) if isinstance(x, dict) else x for tree in documents for x in tree.get(block, {}).values()}

    def kind(joint):
        return next(iter(joint)) if isinstance(joint, dict) else joint

    joints = {kind(link.get("joint", "fixed")) for tree in documents for link in tree["links"].values()}
    assert joints == set(JOINT_KINDS)
    assert {kind(loop["joint"]) for tree in documents for loop in tree.get("loops", {}).values()} == set(CLOSING)
    assert kinds("loads") == {"wrench", "line", "spring", "fluid", "contact"}
    assert kinds("actuators") == {"tendon", "chamber", "moment", "joint", "servo", "loop"}
    assert {tree["simulate"]["method"] for tree in documents} == set(METHODS)


@pytest.mark.skipif(sys.platform == "win32", reason="no timer of processor time")
def test_a_process_that_takes_too_long_is_ended_and_replaced():
    found = list(outcomes([1, 2], jobs=1, limit=0.01))
    assert [(one.seed, one.kinds) for one in found] == [(1, {"process": CRASH}), (2, {"process": CRASH})]
    assert "2 crashed: seeds 1, 2" in report(found, 1.0)


def test_one_robot_again_with_its_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["--only", "4", "--jobs", "1"]) == 0
    assert (tmp_path / "robot4.yaml").read_text("utf-8") == text_of(document(4))
    assert "seed 4: " in capsys.readouterr().out
