"""Files that a robot's file or a sweep names may be of others: no error tells what they hold."""

import pytest

import sorosim
from sorosim.base.errors import SorosimError

SECRET = "hunter2secret"
FOREIGN = {
    "passwd": f"{SECRET}:x:0:0:{SECRET}:/root:/bin/bash\n{SECRET}2:x:1:1\n",
    "env": f"API_KEY={SECRET}\nB={SECRET}\n",
    "token": f"{SECRET}\n",
    "yaml": f"password: {SECRET}\n{SECRET}: 3\n",
    "list": f"- {SECRET}\n",
    "alias": f"[{SECRET}, *{SECRET}]",
    "colons": f"a: {SECRET}: {SECRET}\n",
    "tag": f"!{SECRET} x",
    "twice": f"{SECRET}: 1\n{SECRET}: 2\n",
    "open": f"'{SECRET}",
    "table": f"a,{SECRET},c\n1,{SECRET},3\n",
    "numbers": f"0,1,{SECRET}\n1,{SECRET},3\n",
    "pairs": f"0;{SECRET}\n1;2\n",
    "times": f"{SECRET},1\n0,{SECRET}\n",
    "key": f"-----BEGIN {SECRET}-----\n{SECRET}\n",
    "json": f'{{"a": "{SECRET}"}}',
    "xml": f"<{SECRET} a='{SECRET}'><b/></{SECRET}>",
    "stl": f"solid {SECRET}\n facet {SECRET}\n",
    "obj": f"v {SECRET} 1 2\nf 1 2 {SECRET}\n",
    "off": f"OFF {SECRET}\n{SECRET}",
    "ply": f"ply\nformat ascii 1.0\nelement vertex {SECRET}\nend_header\n",
}
ROBOT = """\
sorosim: 1
{}
materials: {{m: {{young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}}}}
links:
  rod: {{rod: {{length: 1 m, section: {{circle: {{radius: 1 cm}}}}, material: m, strain: {{bending: 0}}}}}}
  box: {{parent: rod, body: {}}}
actuators: {{cable: {{tendon: {{rod: rod, y: 1 mm, z: 0}}{}}}}}
"""
BOX = "{mass: 1 kg, box: {size: [1 cm, 1 cm, 1 cm]}}"
SWEEP = "sorosim_sweep: 1\nrobot: {}\npoints: {}\n"


def csv(path, more=""):
    return ROBOT.format("", BOX, f", u: {{csv: {path}{more}}}")


ROUTES = {
    "signal": csv,
    "column": lambda path: csv(path, ", column: force"),
    "include": lambda path: ROBOT.format(f"include: [{path}]", BOX, ""),
    **{
        kind: lambda path, kind=kind: ROBOT.format(f"import: {{{kind}: {path}}}", BOX, "")
        for kind in ("urdf", "sdf", "mjcf")
    },
    **{
        kind: lambda path, kind=kind: ROBOT.format("", f"{{density: 1 g/cm^3, mesh: {{file: {path}.{kind}}}}}", "")
        for kind in ("stl", "obj", "off", "ply", "dae")
    },
}


@pytest.fixture
def home(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "home").mkdir()
    for name, content in FOREIGN.items():
        for suffix in ("", ".stl", ".obj", ".off", ".ply", ".dae"):
            (tmp_path / "elsewhere" / (name + suffix)).write_text(content)
    return tmp_path / "home"


def assert_untold(action, home):
    with pytest.raises(SorosimError) as caught:
        action()
    assert SECRET not in str(caught.value)
    assert str(home.parent) in str(caught.value)  # it says where


@pytest.mark.parametrize("route", ROUTES)
def test_no_error_of_a_robot_tells_what_is_in_a_file_of_others(route, home):
    (home / "robot.yaml").write_text(ROBOT.format("", BOX, ""))
    sorosim.load(home / "robot.yaml")  # nothing else is wrong with it
    for name in FOREIGN:
        path = home.parent / "elsewhere" / name
        (home / "robot.yaml").write_text(ROUTES[route](path))
        assert_untold(lambda: sorosim.load(home / "robot.yaml"), home)


def test_no_error_of_a_sweep_tells_what_is_in_a_file_of_others(home):
    (home / "robot.yaml").write_text(ROBOT.format("", BOX, ""))
    for name in FOREIGN:
        path = home.parent / "elsewhere" / name
        for text in (SWEEP.format(path, "{grid: {u.cable: [0, 1]}}"), SWEEP.format("robot.yaml", f"{{csv: {path}}}")):
            (home / "sweep.yaml").write_text(text)
            assert_untold(lambda: sorosim.sweep(home / "sweep.yaml"), home)
