"""The text of a robot's file under the hands of several pages: changes, edits, mistakes, files on disk, messages."""

import asyncio
import gzip
import hashlib
import json
import re
import time

import pytest

import sorosim
from sorosim.base.errors import FileError, InputError
from sorosim.view.interactive import editor
from sorosim.view.interactive.editor import EMPTY, RobotText, changed, mistakes_of, outline, replacement, smallest
from sorosim.view.interactive.editor_server import FOLDER

pytest.importorskip("viser")
TEXT = """\
sorosim: 1
name: rod   # a 🙂 beyond the first plane
materials:
  rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}
links:
  arm:
    rod: {length: 30 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2}}
"""


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "rod.yaml"
    path.write_text(TEXT, encoding="utf-8")
    taken, said = [], []
    out = RobotText(path, lambda robot, passing=False: taken.append(robot), said.append)
    out.taken, out.said = taken, said
    return out


def typed(text, position, words, client="a"):
    """A change of a page that types at an offset as a browser counts it."""
    n = len(text.text.encode("utf-16-le")) // 2
    parts = [position, [0, *words.split("\n")], n - position]
    return {"clientID": client, "changes": [part for part in parts if part != 0]}


def test_changes_of_pages_are_those_of_codemirror():
    assert changed("abcdef", [2, [2, "X", "Y"], 2]) == "abX\nYef"
    assert changed("a🙂b", [3, [1]]) == "a🙂"  # offsets count UTF-16
    for old, new in [("abc", "abXc"), ("", "x\ny"), ("aaa", "aa"), ("a🙂b", "a🙂c"), ("same", "same")]:
        assert changed(old, replacement(old, new)) == new
    assert smallest("aXb", "aYYb") == [(1, 2, "YY")]


@pytest.mark.parametrize("changes", [None, "x", [3.0], [True], [-1], [2], [7], [[6, 3]], [["6"]], [[]], {"a": 1}])
def test_other_changes_are_refused(changes):
    with pytest.raises(InputError, match="change"):
        changed("abcdef", changes)


def test_pages_take_turns(text):
    """Of two that change one version the second is refused, and brings its own after the other's."""
    first, second = typed(text, 0, "# one\n", "a"), typed(text, 0, "# two\n", "b")
    assert text.push(0, [first])
    assert not text.push(0, [second])
    assert text.since(0) == [first]
    assert text.push(1, [typed(text, 0, "# two\n", "b")])
    assert text.text == "# two\n# one\n" + TEXT
    with pytest.raises(InputError, match="load the page again"):
        text.since(3)


def test_what_it_says_is_taken_or_its_mistakes_are_told(text):
    report = text.read(0, TEXT)
    assert report["mistakes"] == []
    assert report["size"] == "6 coordinates, 0 inputs"
    assert text.taken[-1].ndof == 6
    wrong = TEXT.replace("1 MPa", "1 m").replace("material: rubber", "material: ruber")
    found = text.read(1, wrong)["mistakes"]
    assert [(one["line"], one["column"]) for one in found] == [(4, 19), (7, 71)]
    assert "ruber" in found[1]["words"]
    assert len(text.taken) == 1
    broken = text.read(2, TEXT + "x: [")
    assert broken["mistakes"][0]["line"] == 8
    assert "outline" not in broken


def test_the_outline_has_the_places_as_a_browser_counts():
    found = outline(TEXT, "x")
    assert [one[0] for one in found] == ["sorosim", "name", "materials", "links"]
    units = TEXT.encode("utf-16-le")
    for entry in (found[2][5][0], found[3][5][0][5][0][5][0]):
        said = units[2 * entry[3] : 2 * entry[4]].decode("utf-16-le")
        assert said.startswith(str(entry[0]))
    assert found[3][5][0][5][0][5][0][:3] == ["length", "text", "30 cm"]


def test_edits_are_changes_that_a_browser_applies(text):
    changes = text.edit("set", ("links", "arm", "rod", "length"), yaml="25 cm")
    units = TEXT.encode("utf-16-le")
    ((start, end, new),) = changes
    assert units[2 * start : 2 * end].decode("utf-16-le") == "30 cm"
    assert new == "25 cm"
    added = text.edit("add", ("actuators",), kind="tendon", name="pull")
    ((start, end, new),) = added
    assert start == end
    assert "pull: {tendon: {rod: arm" in new
    section = ("links", "arm", "rod", "section", "circle")
    text.change("exchange", section, key="rectangle", yaml="{y: 1 cm, z: 2 cm}")
    assert text.text == TEXT.replace("circle: {radius: 1 cm}", "rectangle: {y: 1 cm, z: 2 cm}")
    assert [one["kind"] for one in text.kinds("materials")] == ["material"]
    for call in (
        lambda: text.edit("draw", ()), lambda: text.kinds("simulate"), lambda: text.edit("add", ("loads",), kind="x"),
        lambda: text.edit("remove", ("links", "leg")),
    ):  # fmt: skip
        with pytest.raises(InputError):
            call()


def test_a_slider_moves_the_robot_and_leaves_the_text(text):
    text.read(0, TEXT)
    text.slide({"links.arm.rod.length": "20 cm"})
    assert text.taken[-1].description.links[0].body.length == pytest.approx(0.2)
    assert text.text == TEXT


def test_a_text_that_was_read_meanwhile_comes_before_a_slide(text, monkeypatch):
    text.read(0, TEXT)
    later = TEXT.replace("30 cm", "40 cm")
    values = editor.with_values

    def slow(robot, given):
        text.read(1, later)  # as the thread of the text does
        return values(robot, given)

    monkeypatch.setattr(editor, "with_values", slow)
    text.slide({"links.arm.rod.length": "20 cm"})
    assert text.taken[-1].description.links[0].body.length == pytest.approx(0.4)


# -- on disk -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [TEXT.encode(), TEXT.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + TEXT.encode()]
)
def test_a_file_keeps_its_bytes(text, content):
    text.path.write_bytes(content)
    again = RobotText(text.path, print, lambda _: None)
    again.save()
    assert text.path.read_bytes() == content
    again.push(0, [typed(again, 0, "# new\n")])
    again.save()
    mark = b"\xef\xbb\xbf"
    line = b"# new\r\n" if b"\r\n" in content else b"# new\n"
    assert text.path.read_bytes() == (mark if content.startswith(mark) else b"") + line + content.removeprefix(mark)


def test_what_others_wrote_is_not_lost(text):
    later = TEXT.replace("30 cm", "31 cm")
    text.path.write_text(later, encoding="utf-8")
    text.look_at_disk()
    assert text.text == later
    assert text.is_saved
    text.push(text.version, [typed(text, 0, "# mine\n")])
    text.path.write_text(later + "# theirs\n", encoding="utf-8")
    text.look_at_disk()
    assert "changes of its own" in text.said[-1]["conflict"]
    with pytest.raises(InputError, match="outside of the page"):
        text.save()
    assert text.path.read_text(encoding="utf-8").endswith("# theirs\n")
    text.save(over=True)
    assert text.path.read_text(encoding="utf-8") == "# mine\n" + later
    text.path.write_text(TEXT, encoding="utf-8")
    text.reload()
    assert text.text == TEXT


def test_a_link_stays_one_and_a_file_that_is_read_only_as_it_is(text):
    link = text.path.with_name("link.yaml")
    link.symlink_to(text.path)
    through = RobotText(link, print, lambda _: None)
    through.push(0, [typed(through, 0, "# mine\n")])
    text.path.chmod(0o444)
    with pytest.raises(FileError, match="read-only"):
        through.save()
    assert text.path.read_text(encoding="utf-8") == TEXT
    text.path.chmod(0o640)
    through.save()
    assert link.is_symlink()
    assert text.path.read_text(encoding="utf-8") == "# mine\n" + TEXT
    assert text.path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_is_written_when_asked(tmp_path):
    text = RobotText(tmp_path / "new.yaml", print, lambda _: None)
    assert text.text == EMPTY
    assert not text.is_saved
    assert not text.path.exists()
    text.save()
    assert text.path.read_text(encoding="utf-8") == EMPTY
    assert [one.name for one in tmp_path.iterdir()] == ["new.yaml"]


def test_files_that_no_editor_can_keep_are_refused(tmp_path):
    path = tmp_path / "robot.yaml"
    mixed = [(content, "lines that all end alike") for content in (b"a: 1\r\nb: 2\n", b"a: 1\r", b"a: 1\r\r\nb: 2\r\n")]
    for content, words in [*mixed, (b"\xff\xfe", "UTF-8")]:
        path.write_bytes(content)
        with pytest.raises(FileError, match=words):
            RobotText(path, print, print)


def test_mistakes_of_other_files_stand_at_no_line():
    error = FileError("robot.yaml", "a: wrong\nother.yaml:3:4: b: wrong\nrobot.yaml:7:2: c: wrong", 2, 3)
    assert [(one.line, one.column) for one in mistakes_of(error, "robot.yaml")] == [(2, 3), (0, 0), (7, 2)]
    assert mistakes_of(InputError("x", "a", "b"), "robot.yaml")[0].line == 0


URDF = """\
<robot name="swing">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
</robot>
"""


def test_a_file_of_another_format_is_shown_and_made_one_of_ours(tmp_path):
    path = tmp_path / "swing.urdf"
    path.write_text(URDF, encoding="utf-8")
    said = []
    text = RobotText(path, lambda robot: None, said.append)
    known = sorosim.load(path)
    assert text.imported
    assert text.document()["imported"]
    assert text.text == known.description.text
    for call in (lambda: text.push(0, [typed(text, 0, "# mine\n")]), text.save):
        with pytest.raises(InputError, match="make this a file"):
            call()
    path.write_text(URDF.replace('mass value="1"', 'mass value="2"'), encoding="utf-8")
    text.look_at_disk()  # it follows the file
    assert text.text != known.description.text
    (tmp_path / "taken.yaml").write_text("x", encoding="utf-8")
    with pytest.raises(FileError, match="exists already"):
        text.make("taken.yaml")
    assert (tmp_path / "taken.yaml").read_text(encoding="utf-8") == "x"
    for name in ("", "arm", "../arm.yaml", str(tmp_path / "arm.yaml"), ".yaml", "arm.txt"):
        with pytest.raises(InputError, match="in the same folder"):
            text.make(name)
    text.make("arm.yaml")
    assert said[-1]["document"]["file"] == "arm.yaml"
    assert not said[-1]["document"]["imported"]
    assert text.is_saved
    assert sorosim.load(tmp_path / "arm.yaml").description.links[-1].body.mass == pytest.approx(2.0)
    text.push(text.version, [typed(text, 0, "# mine\n")])
    text.save()
    assert (tmp_path / "arm.yaml").read_text(encoding="utf-8").startswith("# mine\n")
    assert "<robot" in path.read_text(encoding="utf-8")


def test_a_broken_import_is_told(tmp_path):
    path = tmp_path / "swing.urdf"
    path.write_text(URDF, encoding="utf-8")
    said = []
    text = RobotText(path, lambda robot: None, said.append)
    before = text.text
    path.write_text("<robot", encoding="utf-8")
    text.look_at_disk()
    assert "swing.urdf" in said[-1]["conflict"]
    assert text.text == before


def test_a_text_that_says_something_is_kept(text):
    assert text.is_kept
    text.push(0, [typed(text, 0, "# mine\n")])
    assert not text.is_kept
    new = RobotText(text.path.with_name("new.yaml"), print, lambda _: None)
    assert new.is_kept  # it says nothing


# -- messages ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def live(tmp_path):
    path = tmp_path / "rod.yaml"
    path.write_text(TEXT, encoding="utf-8")
    with sorosim.live(path, port=0, block=False, out=tmp_path / "run.h5") as live:
        yield live


def talk(live, messages, origin=None, path="editor"):
    """Answers to messages."""
    from websockets.asyncio.client import connect

    async def all_of_them():
        url = live.url.replace("http", "ws") + path
        async with connect(url, origin=origin) as connection:
            answers = [json.loads(await connection.recv())]
            for k, message in enumerate(messages):
                await connection.send(json.dumps({**message, "id": k}) if isinstance(message, dict) else message)
                while (answer := json.loads(await connection.recv())).get("id", "said") == "said":
                    pass
                answers.append(answer)
            return answers

    return asyncio.run(all_of_them())


def test_a_page_edits_through_its_socket(live):
    until = time.monotonic() + 120.0
    while not live._editing.text.report and time.monotonic() < until:
        time.sleep(0.05)
    first, edit, kinds, saved, wrong, bad, path = talk(live, [
        {"do": "edit", "what": "set", "path": ["links", "arm", "rod", "length"], "yaml": "25 cm"},
        {"do": "kinds", "block": "actuators"}, {"do": "save"}, {"do": "fly"}, "no json",
        {"do": "edit", "what": "remove", "path": "links"},
    ])  # fmt: skip
    assert first["document"]["text"] == TEXT
    assert first["state"]["mistakes"] == []
    assert edit["answer"]["version"] == 0
    assert edit["answer"]["changes"][0][2] == "25 cm"
    assert "tendon" in [one["kind"] for one in kinds["answer"]]
    assert saved["answer"] is None
    assert "expected one of push, pull" in wrong["error"]
    assert "cannot be read" in bad["error"]
    assert "a list of names" in path["error"]
    live._editing._clicked("arm")
    assert live._editing.text.path.read_text(encoding="utf-8") == TEXT


def test_a_message_that_breaks_something_is_answered(live, capsys):
    _, infinite, deep, pull = talk(
        live, ['{"do": "pull", "version": Infinity}', "[" * 100_000, {"do": "pull", "version": 0}]
    )
    assert "OverflowError" in infinite["error"]
    assert "RecursionError" in deep["error"]
    assert pull["answer"] == []  # the page goes on
    assert "OverflowError" in capsys.readouterr().err


def test_a_page_that_closes_while_it_slides_leaves_the_robot_of_the_text(live, monkeypatch):
    until = time.monotonic() + 120.0
    while not live._editing.text.report and time.monotonic() < until:
        time.sleep(0.05)
    lengths = []
    took = lambda robot, passing=False: lengths.append(robot.description.links[0].body.length)  # noqa: E731
    monkeypatch.setattr(live._editing.text, "_take", took)
    talk(live, [{"do": "slide", "path": "links.arm.rod.length", "value": "20 cm"}])
    until = time.monotonic() + 10.0
    while len(lengths) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    assert lengths == pytest.approx([0.2, 0.3])


def test_bundled_robots_are_listed_and_given(live):
    _, listed, robot, wrong = talk(live, [
        {"do": "robots"}, {"do": "robot", "name": "pendulum"}, {"do": "robot", "name": "../pendulum"},
    ])  # fmt: skip
    known = {one["name"]: one["words"] for one in listed["answer"]["robots"]}
    assert set(known) == set(sorosim.files.bundled_robots())
    assert all(known.values())
    assert listed["answer"]["kept"]
    assert sorosim.files.load_text(robot["answer"], "pendulum.yaml").ndof == sorosim.load("pendulum").ndof
    assert "robot: expected" in wrong["error"]


def test_pages_without_the_token_or_of_other_origins_reach_nothing(live):
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus):
        talk(live, [], origin="https://elsewhere.example")
    token = live.url.rstrip("/").rsplit("/", 1)[1]
    live.url = live.url.replace(token, "x" * len(token))
    with pytest.raises(InvalidStatus):
        talk(live, [])


@pytest.mark.parametrize(
    ("path", "status"), [("", 200), ("editor.js", 200), ("schema.json", 200), ("scene/", 200), ("../../page.py", 404),
                         ("src/main.js", 404), ("%2e%2e/page.py", 404)],
)  # fmt: skip
def test_what_the_page_may_load(live, path, status):
    import http.client
    from urllib.parse import urlsplit

    url = urlsplit(live.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    connection.request("GET", url.path + path)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == status
    if path == "":
        assert b"editor.js" in content
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


def test_the_page_is_made_of_its_sources():
    """`make editor` after an edit of the sources."""
    folder = FOLDER.parent
    files = [folder / "build.mjs", folder / "package-lock.json", *sorted((folder / "src").iterdir())]
    made_of = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    assert (FOLDER / "sources.txt").read_text(encoding="utf-8").strip() == made_of


def test_the_page_is_small_and_ships_the_licences_of_what_is_in_it():
    """Compressed 1.5 MB at most; each package in it with its text, of the version that the lock file names."""
    assert sum(len(gzip.compress(file.read_bytes())) for file in FOLDER.iterdir()) < 1_500_000
    texts = {}
    for part in (FOLDER / "licences.txt").read_text(encoding="utf-8").split("-" * 80):
        head, _, words = part.strip().partition("\n")
        name, version, kind = re.fullmatch(r"(\S+) (\S+) \((.+)\)", head).groups()
        assert re.search("copyright", words, re.IGNORECASE)
        assert len(words) > 500
        assert kind in ("MIT", "BSD-3-Clause")
        texts[name] = version
    locked = json.loads((FOLDER.parent / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert texts == {name: locked[f"node_modules/{name}"]["version"] for name in texts}
    imported = set()
    for file in (FOLDER.parent / "src").glob("*.js"):
        found = re.findall(r"""(?:from|import) "(@[^/"]+/[^/"]+|[^./"][^/"]*)""", file.read_text(encoding="utf-8"))
        imported.update(found)
    assert imported
    assert imported <= texts.keys()
    asked = list(imported)
    while asked:  # what these need, as far as it is in the page, is named by the same table
        needs = locked[f"node_modules/{asked.pop()}"].get("dependencies", {})
        unnamed = {name for name in needs if name.startswith(("@codemirror/", "@lezer/", "lit"))} - texts.keys()
        assert not unnamed
        asked += [name for name in needs if name in texts]


def test_a_file_with_mistakes_opens_when_asked(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text(TEXT.replace("1 MPa", "1 m"), encoding="utf-8")
    with pytest.raises(FileError):
        sorosim.live(path, port=0, block=False)
    with sorosim.live(path, port=0, block=False, edit=True) as live:
        assert live.session.robot.ndof == 0
    with pytest.raises(InputError, match="the path of a YAML file"):
        sorosim.live("pendulum", port=0, block=False, edit=True)


def test_what_the_doctor_fails_in_is_told(text, monkeypatch):
    """The thread that reads the text goes on."""
    text.read(0, TEXT)

    def examine(robot, progress):
        raise ZeroDivisionError("of a plug-in")

    monkeypatch.setattr(editor, "examine", examine)
    assert text._examine(0)
    assert text.findings["findings"]["rows"][0]["what"] == "ZeroDivisionError: of a plug-in"


def test_the_doctor_gives_way_to_a_newer_text(text, monkeypatch):
    text.read(0, TEXT)
    text._examine(0)
    assert text.said[-1]["version"] == 0
    n, seen = len(text.said), []

    def examine(robot, progress):
        for k in range(3):
            progress("check", k + 1, 3)
            seen.append(k)
            text.push(text.version, [typed(text, 0, "#")])
        return []

    monkeypatch.setattr(editor, "examine", examine)
    text._examine(0)
    assert seen == [0]
    assert [one for one in text.said[n:] if "findings" in one] == []
