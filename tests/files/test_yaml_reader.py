"""YAML with positions: plain data by the core rules of YAML 1.2, and one sentence for what cannot be read."""

import math

import pytest

from sorosim.base.errors import FileError
from sorosim.files.yaml_reader import MAX_BYTES, read_file, read_text


def value(text):
    return read_text(f"x: {text}\n", "f.yaml").data["x"]


def message(text):
    """What is wrong with a text, from the position on."""
    with pytest.raises(FileError) as caught:
        read_text(text, "f.yaml")
    return str(caught.value).removeprefix("f.yaml:")


def message_of_file(path, content):
    path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        read_file(path, "f.yaml")
    return str(caught.value).removeprefix("f.yaml:")


# -- scalars


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # words that YAML 1.1 takes for booleans
        *((word, word) for word in ("on", "off", "yes", "no", "On", "OFF", "Yes", "NO", "y", "n", "tRUE")),
        ("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False), ("FALSE", False),
        # numbers that it takes for texts
        ("1e5", 1e5), ("1e-3", 1e-3), ("1E5", 1e5), ("-1e+5", -1e5),
        (".5", 0.5), ("-.5", -0.5), ("+.5e1", 5.0), ("1.", 1.0),
        # texts that it takes for numbers and dates
        ("12:30", "12:30"), ("1:30:00", "1:30:00"), ("1_000", "1_000"),
        ("0b101", "0b101"), ("2024-01-31", "2024-01-31"),
        # integers
        ("010", 10), ("0x1F", 31), ("0o17", 15), ("-7", -7), ("+7", 7), ("-0x1F", "-0x1F"), ("0", 0), ("007", 7),
        # not finite, and nothing
        (".inf", math.inf), ("-.INF", -math.inf), ("inf", "inf"), ("nan", "nan"),
        ("null", None), ("~", None), ("Null", None), ("", None), ("nil", "nil"),
        # texts
        ("3 cm", "3 cm"), ("-3 cm", "-3 cm"), ("10 kPa*s", "10 kPa*s"), ("1.2.3", "1.2.3"), ("1e", "1e"), (".", "."),
        ("5*(1-cos(pi*t))", "5*(1-cos(pi*t))"), ("'1e5'", "1e5"), ('"true"', "true"), ("''", ""), ("=", "="),
        ("a#b", "a#b"), ("a # comment", "a"), ("a:b", "a:b"), ("[1e2, on]", [100.0, "on"]), ("{y: off}", {"y": "off"}),
    ],
)  # fmt: skip
def test_scalars_are_read_as_a_person_would(text, expected):
    got = value(text)
    assert got == expected
    assert type(got) is type(expected)


def test_not_a_number_is_read_as_such():
    assert math.isnan(value(".nan"))
    assert math.isnan(value(".NaN"))


def test_numbers_of_very_many_digits_are_read():
    assert value("9" * 300) == int("9" * 300)
    assert value("9" * 5000) == math.inf
    assert value("0." + "1" * 5000) == pytest.approx(1 / 9)


def test_texts_over_several_lines():
    assert value("|\n  a\n  b\n") == "a\nb\n"
    assert value("5*t\n  + 3") == "5*t + 3"


# -- positions


def test_every_key_and_value_has_a_position():
    text = "sorosim: 1\nlinks:\n  arm:\n    at: {position: [1, 2, -3 cm]}\n    rod: &r\n    - a\n    - *r2\n"
    positions = read_text(text.replace("*r2", "b"), "f.yaml").positions
    assert positions.keys[("links",)] == (2, 1)
    assert positions.values[("links",)] == (3, 3)
    assert positions.keys[("links", "arm", "at", "position")] == (4, 10)
    assert positions.values[("links", "arm", "at", "position", 2)] == (4, 27)
    assert positions.values[("links", "arm", "rod", 1)] == (7, 7)


def test_what_has_no_position_has_that_of_its_nearest_ancestor():
    positions = read_text("a:\n  b: {c: 1}\n", "f.yaml").positions
    assert positions.nearest(("a", "b", "x", 3)) == (2, 6)
    assert positions.nearest(("a", "b", "c"), at_key=True) == (2, 7)
    assert positions.nearest(("x",)) == (1, 1)


def test_an_alias_repeats_the_data_of_its_anchor_at_its_positions():
    document = read_text("a: &x {b: [1, 2]}\nc: *x\n", "f.yaml")
    assert document.data == {"a": {"b": [1, 2]}, "c": {"b": [1, 2]}}
    assert document.positions.values[("c", "b", 1)] == (1, 15)
    assert document.positions.keys[("c",)] == (2, 1)


# -- what is refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", " expected a robot, got an empty file; begin with the line 'sorosim: 1'"),
        ("# only\n\n", " expected a robot, got an empty file; begin with the line 'sorosim: 1'"),
        ("a: 1\nb: 2\na: 3", "3:1: expected keys that differ, got 'a' twice; the first is at line 1, column 1"),
        ("x:\n  a: 1\n  'a': 3",
         "3:3: x: expected keys that differ, got 'a' twice; the first is at line 2, column 3"),
        ("x: {a: 1, a: 2}", "1:11: x: expected keys that differ, got 'a' twice; the first is at line 1, column 5"),
        ("1: a", "1:1: expected a text as key, got 1; write it in quotes: '1'"),
        ("x:\n  true: a", "2:3: x: expected a text as key, got true; write it in quotes: 'true'"),
        (": a", "1:1: expected a key before the ':', got nothing"),
        ("? [a]\n: b", "1:3: expected a text as key, got a list"),
        ("? {a: 1}\n: b", "1:3: expected a text as key, got a mapping"),
        ("a: &x {b: 1}\nc:\n  <<: *x", "3:3: c: expected a key, got '<<'; merge keys are not part of YAML 1.2"),
        ("a: !!python/object/apply:os.system [ls]",
         "1:4: a: expected no tag, got '!!python/object/apply:os.system'; files are plain data"),
        ("a: !mine 1", "1:4: a: expected no tag, got '!mine'; files are plain data"),
        ("a: !!str 1", "1:4: a: expected no tag, got '!!str'; files are plain data"),
        ("a: &x [1, *x]", "1:4: a[1]: expected data without cycles, got an alias inside its own anchor"),
        ("a: *x",
         "1:4: expected the name of an anchor (&name) above, got *x; a text that begins with * needs quotes"),
        ("a: &x 1\nb: &x 2", "2:4: expected anchors that differ, got one twice; the first is at line 1, column 4"),
        ("a: 1\n---\nb: 2", "2:1: expected one document, got a second one after '---'; keep one robot in a file"),
        ("a:\n\tb: 1", "2:1: expected spaces, got a tab; indent with spaces"),
        ("a: 1\nd:\n  \te: 1", "3:3: expected spaces, got a tab; indent with spaces"),
        ("a: b: c", "1:5: expected a single 'key: value' here, got another ':'; a text with ': ' needs quotes, "
                    "and nested keys go on indented lines of their own"),
        ("a:\n  b: 1\n c: 2", "3:2: expected a line that begins where its block begins, at line 1, column 1, got a "
                              "key in another column"),
        ("- a\nb: 1", "2:1: expected another '- ' like the one at line 1, column 1, got a key; a block is a list or "
                      "has keys"),
        ("a: 'b' c", "1:8: expected the end of the value, got more text; put the whole text in quotes"),
        ("a: {b: 1", "1:9: expected ',' or '}', got the end of the file; the '{' at line 1, column 4 is open"),
        ("a: [1\nb: 2", "2:2: expected ',' or ']', got ':'; the '[' at line 1, column 4 is open"),
        ("a: {b[0]: 1}", "1:6: expected ',' or '}', got '['; the '{' at line 1, column 4 is open; a text with "
                         "brackets needs quotes"),
        ("a: ]", "1:4: expected a value, got ']'"),
        ("{a: 1}}", "1:7: expected a value, got '}'"),
        ("a: 'b", "1:6: expected a closing quote, got the end of the file; the text begins at line 1, column 4"),
        ("a: @b", "1:4: expected a value, got '@'; a text that begins with @ needs quotes"),
        ("a: %b", "1:4: expected a value, got '%'; a text that begins with % needs quotes"),
        ('a: "\\q"',
         "1:6: expected a known escape after the backslash; texts with backslashes go into single quotes"),
        ("a: b\x07", "1:5: expected text, got the control character U+0007"),
        ("%YAML 2.0\n---\na: 1",
         "1:1: expected YAML, got a mistake: found incompatible YAML document (version 1.* is required)"),
    ],
)  # fmt: skip
def test_malformed_texts_are_refused_in_one_sentence(text, expected):
    assert message(text) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x89HDF\r\n\x1a\n", " expected a robot, got an HDF5 file; sorosim.open reads results"),
        ("a: 1".encode("utf-16"), " expected UTF-8, got UTF-16; save the file as UTF-8"),
        (b"\x7fELF\x00\x01", " expected a robot, got a binary file"),
        ("sorosim: 1\nname: gr\u00fcn".encode("latin-1"),
         "2:9: expected UTF-8, got the byte 0xFC; save the file as UTF-8"),
        (b"a" * (MAX_BYTES + 1), " expected at most 1 MB, got more; keep measured data in CSV files"),
        (b"", " expected a robot, got an empty file; begin with the line 'sorosim: 1'"),
    ],
)  # fmt: skip
def test_files_that_are_no_text_are_refused(tmp_path, content, expected):
    assert message_of_file(tmp_path / "f.yaml", content) == expected


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    (tmp_path / "f.yaml").write_bytes("\ufeffname: gr\u00fcn\r\nb: 1\r\n".encode())
    document = read_file(tmp_path / "f.yaml")
    assert document.data == {"name": "gr\u00fcn", "b": 1}
    assert document.positions.keys[("b",)] == (2, 1)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError) as caught:
        read_file(tmp_path / "f.yaml", "f.yaml")
    assert str(caught.value) == "f.yaml: cannot be read: No such file or directory"


def test_nesting_is_bounded():
    assert read_text("[" * 50 + "]" * 50, "f.yaml")
    for text in (
        "[" * 51 + "]" * 51,
        "[" * 900_000,
        "- " * 400_000,
        "{a: " * 60,
        "a: &x [[[[1]]]]\nb: " + "[" * 47 + "*x" + "]" * 47,
    ):
        assert "expected at most 50 levels of nesting, got more" in message(text)


def test_an_alias_bomb_is_refused():
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "expected at most 100000 values, aliases included, got more" in message("\n".join(lines))


def test_the_number_of_values_is_bounded(monkeypatch):
    monkeypatch.setattr("sorosim.files.yaml_reader.MAX_NODES", 1000)
    assert message("[" + "1," * 2000 + "]") == (
        "1:2000: expected at most 1000 values, got more; keep measured data in CSV files"
    )
