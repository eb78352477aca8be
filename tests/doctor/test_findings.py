"""The table of findings: its kinds are those that the checks report, with the words that they give."""

import ast
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import sorosim.studies.doctor
from sorosim.studies.doctor.findings import LEVELS, RULES

SOURCES = sorted(Path(sorosim.studies.doctor.__file__).parent.glob("*.py"))
REPORTS = ("finding", "judged")


def strings(node):
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


@cache
def reported():
    """Codes that each function of the doctor reports, and the words that it may give."""
    found = []
    for file in SOURCES:
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls = [n for n in ast.walk(function) if isinstance(n, ast.Call)]
                calls = [n for n in calls if isinstance(n.func, ast.Name) and n.func.id in REPORTS]
                words = {keyword.arg for call in calls for keyword in call.keywords}
                words |= {key for n in ast.walk(function) if isinstance(n, ast.Dict) for key in n.keys if key}
                words = {word.value if isinstance(word, ast.Constant) else word for word in words}
                for code in strings(function) & set(RULES) if calls else ():
                    found.append((code, words))
                for call in calls:
                    if isinstance(call.args[0], ast.Constant):
                        found.append((call.args[0].value, words))
    return found


def test_every_kind_is_reported_by_a_check():
    assert {code for code, _ in reported()} == set(RULES)


@pytest.mark.parametrize("code", sorted(RULES))
def test_the_words_of_a_kind_are_those_that_checks_give(code):
    rule = RULES[code]
    fields = {name for text in (rule.what, rule.remedy, rule.unit) for _, name, _, _ in Formatter().parse(text) if name}
    given = set().union(*(words for other, words in reported() if other == code))
    assert fields <= given | {"value"}


@pytest.mark.parametrize("code", sorted(RULES))
def test_the_levels_and_ranges_of_a_kind_make_sense(code):
    rule = RULES[code]
    assert rule.level in LEVELS
    ranges = [bounds for bounds in (rule.odd, rule.note) if bounds is not None]
    assert all(low < high for low, high in ranges)
    if len(ranges) == 2:  # what is odd is beyond what is noted
        assert rule.odd[0] <= rule.note[0]
        assert rule.note[1] <= rule.odd[1]
