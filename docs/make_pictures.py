"""Draw the pictures of the pages anew: python docs/make_pictures.py

The robots are those that the pages show: they are read from the pages. Pictures have few colours and few pixels, so
that the repository stays small.
"""

import ast
import contextlib
import dataclasses
import io
import re
import runpy
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import sorosim
from sorosim.files import load_text
from sorosim.view.viz.scene import Scene

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
N_COLOURS, DPI = 128, 80
SHADED, DRAWN = Image.Quantize.MEDIANCUT, Image.Quantize.MAXCOVERAGE  # colours of few lines stay what they are
BYTES = 100_000  # of a picture at most


def robots(page: str) -> list[sorosim.Robot]:
    """The whole robots of a page, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = []
    for block in re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if re.search("^sorosim:", block, re.MULTILINE):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "tentacle.yaml"
                path.write_text(block, encoding="utf-8")
                found.append(sorosim.load(path))
    return found


def write(image: Image.Image, name: str, method: Image.Quantize = SHADED) -> None:
    """Write a picture with few colours."""
    path = IMAGES / f"{name}.png"
    image.convert("RGB").quantize(N_COLOURS, method, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size / 1000:.0f} kB")
    assert size < BYTES, path


def write_figure(figure: Any, name: str) -> None:
    """Write a matplotlib figure."""
    memory = io.BytesIO()
    figure.savefig(memory, format="png", dpi=DPI)
    write(Image.open(memory), name, DRAWN)


def picture(robot: sorosim.Robot, states: Any, inputs: Any = None, **look: Any) -> list[Image.Image]:
    """The robot in 3D at several states, all seen by one camera."""
    u = np.zeros((len(states), len(robot.actuator_names))) if inputs is None else np.array(inputs, dtype=float)
    images = []
    with Scene(robot, **({"size": (640, 360), "title": ""} | look)) as scene:
        scene.fit(np.array(states), u)
        for q, tension in zip(states, u, strict=True):
            scene.update(q, tension)
            images.append(Image.fromarray(scene.image()))
    return images


def beside(images: list[Image.Image]) -> Image.Image:
    """Pictures in one row."""
    row = Image.new("RGB", (sum(image.width for image in images), images[0].height), "white")
    left = 0
    for image in images:
        row.paste(image, (left, 0))
        left += image.width
    return row


def readme() -> None:
    """The finger of the README at five tensions of its tendon, the last one the darkest."""
    finger = robots("../README.md")[0]
    tensions = [0.0, 0.5, 1.0, 1.5, 2.0]
    states = [sorosim.statics(finger, u={"tendon": tension}).q for tension in tensions]
    look: dict[str, Any] = {"size": (640, 300), "floor": False, "view": "side", "tendons": True}
    write(over_each_other(picture(finger, states, [[tension] for tension in tensions], **look)), "finger")


def getting_started() -> None:
    """The bundled arm."""
    run = sorosim.simulate(sorosim.load("cable_manipulator"), t_end=2.0)
    write_figure(run.plot(what="snapshots")["snapshots"], "arm_snapshots")


def own_robot() -> None:
    """The steps of the tutorial."""
    straight, hanging, tapered, pulled = robots("own_robot.md")
    write(picture(straight, [np.zeros(straight.ndof)])[0], "tentacle_3")
    write_figure(sorosim.statics(hanging).plot(), "tentacle_4")
    write(picture(tapered, [sorosim.statics(tapered).q])[0], "tentacle_5")

    tensions = [0.0, 0.7, 1.4, 2.0]
    states = [sorosim.statics(pulled, u={"cable": tension}).q for tension in tensions]
    images = picture(pulled, states, [[tension] for tension in tensions], size=(320, 240), floor=False)
    write(beside(images), "tentacle_6")

    run = sorosim.simulate(pulled, q0="equilibrium")
    figures = run.plot(what=["snapshots", "tip"])
    write_figure(figures["snapshots"], "tentacle_8_snapshots")
    write_figure(figures["tip"], "tentacle_8_tip")
    frame = 60
    write(picture(pulled, run.q[: frame + 1 : 20], run.u[: frame + 1 : 20], title=None)[-1], "tentacle_8_film")


def rigid_bodies() -> None:
    """The gripper at rest."""
    gripper = robots("rigid_bodies.md")[0]
    write(picture(gripper, [sorosim.statics(gripper).q])[0], "gripper")


def actuators() -> None:
    """The wire with discs, one of its tendons pulled."""
    wire = robots("actuators.md")[1]
    write(picture(wire, [sorosim.statics(wire, {"a": 3.0}).q], [[3.0, 0.0, 0.0]])[0], "wire")


def sensors() -> None:
    """What the IMU at the tip of the finger gives."""
    run = sorosim.simulate(robots("sensors.md")[0])
    write_figure(run.plot(what="sensor_tip")["sensor_tip"], "sensor_tip")


def over_each_other(images: list[Image.Image]) -> Image.Image:
    """Pictures one over the other, the last one the darkest."""
    shares = np.linspace(0.35, 1.0, len(images))
    layers = [255.0 - a * (255.0 - np.asarray(image, dtype=float)) for a, image in zip(shares, images, strict=True)]
    return Image.fromarray(np.min(layers, axis=0).astype(np.uint8))


# bundled robot -> times of its run [s], which are drawn one over the other, the last one the darkest
TIMES = {
    "hybrid_serial": (0.0, 1.5, 3.0, 4.5),
    "soft_gripper": (0.0, 4.0),
    "free_fall_rod": (0.0, 0.2, 0.4, 0.6, 0.8),
    "flying_rod": (0.0, 1.5, 3.0, 4.5, 6.0, 7.5),
    "pendulum": (0.0, 0.2, 0.4, 0.6),
    "double_pendulum": (0.0, 0.4, 0.7, 0.9),
    "heavy_top": (0.0, 0.25, 0.5),
    "tree_of_rods": (0.0, 1.0),
    "fin_ray": (0.0, 2.5),
    "hybrid_parallel": (0.0, 3.6),
    "soft_gripper_parallel": (0.0, 4.0),
    "stewart_soft": (0.0, 1.5),
    "soft_ring": (0.0, 0.5, 1.0),
    "four_bar": (0.0, 0.05, 0.1, 0.15),
    "slider_crank": (0.0, 0.1, 0.2),
    "underwater_vehicle": (0.0, 10.0),
    "tentacle_in_current": (0.0, 1.0, 12.0),
    "pneumatic_bellow": (0.0, 1.2, 1.8, 2.5),
    "contact_cylinder": (0.0, 1.0),
    "finray_grasp": (0.0, 3.9),
    "gripper_grasps_sphere": (0.0, 5.0),
    "snake_on_plane": (1.0, 5.0),
    "rod_pile": (0.0, 3.0),
    "gripper_100": (0.0, 2.5),
    "net": (0.0, 0.4),
    "rope_pile": (0.0, 3.0),
    "vine": (0.0, 4.0, 7.0, 10.0),
    "particle": (0.0, 0.2, 0.4, 0.6, 0.8),
    "jumping_lamp": (0.0, 0.7, 0.8, 0.9, 1.0, 1.18),
    "polypeptide": (0.0, 4.0),
    "two_segment_arm": (0.0, 1.0, 2.0),
    "soft_cart_pole": (0.0, 0.3, 0.6, 0.9),
    "swing_up_cart_pole": (0.0, 0.4, 0.8),
    "soft_furuta": (0.0, 0.4, 0.8),
    "soft_pendubot": (0.0, 0.4, 0.8),
    "puma560": (0.0, 1.6, 4.0),
    "ur5_with_soft_gripper": (0.0, 2.0, 4.0),
    "concentric_tubes": (0.0, 0.2, 0.5),
    "continuum_stewart": (0.0, 1.5, 4.5),
    "magnetic_catheter": (0.5, 1.0, 2.0),
}


LOOKS = {"gripper_100": {"contacts": False}}  # whose arrows would hide all else


def bundled(names: list[str] | None = None) -> None:
    """A picture of each bundled robot."""
    for name in names or TIMES:
        run = sorosim.simulate(sorosim.load(name), t_end=max(TIMES[name][-1], 0.1))
        rows = [int(np.argmin(np.abs(run.t - t))) for t in TIMES[name]]
        images = picture(
            run.robot, run.q[rows], run.u[rows], size=(480, 360), floor=False, tendons=True, **LOOKS.get(name, {})
        )
        write(over_each_other(images), name)


def still(run: Any, name: str, **options: Any) -> None:
    """A picture as `run.still` makes it."""
    with tempfile.TemporaryDirectory() as folder:
        run.still(Path(folder) / "one.png", size=(640, 360), **options)
        write(Image.open(Path(folder) / "one.png"), name)


def pictures() -> None:
    """Several moments, and arrows."""
    arm = sorosim.simulate(sorosim.load("cable_manipulator"), t_end=10.0)
    still(arm, "arm_moments", t=(0.0, 0.5, 2.0, 5.0, 7.0, 10.0), ghosts="time", trails=True)
    pushed = sorosim.simulate(sorosim.load("hybrid_parallel"), t_end=1.0)
    still(pushed, "arrows", loads=True, joints=True)


def superellipsoid() -> None:
    """The bundled gripper with a superellipsoid in place of its ball."""
    body = {"superellipsoid": {"radii": [0.038, 0.03, 0.035], "roundness": [0.4, 0.8]}, "mass": 0.06}
    run = sorosim.simulate(sorosim.load("gripper_grasps_sphere", set={"links.ball.body": body}))
    still(run, "superellipsoid", t=(0.0, 5.0), tendons=True)


def concentric_tubes() -> None:
    """The bundled tubes as the inner one is turned along the post."""
    run = sorosim.simulate(sorosim.load("concentric_tubes"))
    still(run, "tubes_turned", t=(0.0, 0.1, 0.2, 0.5), ghosts="time")


def sweeps() -> None:
    """Where the tip of the bundled arm rests, by three of its cables."""
    cables = {f"u.cable{k}": np.linspace(0.0, 10.0, 7).tolist() for k in (1, 2, 3)}
    write_figure(
        sorosim.sweep(sorosim.load("cable_manipulator"), {"grid": cables}, outputs=["arm"]).plot(), "workspace"
    )


def sensitivities() -> None:
    """The lightest arm of the page beside the one that it began as."""
    first = robots("sensitivities.md")[0]
    best = first.with_values({"parameters.length": 0.37881, "parameters.base": 0.01483, "parameters.tip": 0.003})
    images = [picture(arm, [sorosim.statics(arm).q], size=(420, 330), view="side")[0] for arm in (first, best)]
    write(beside(images), "lightest_arm")


def inverse_statics() -> None:
    """A letter that an arm draws, and a finger that touches pins."""
    runs = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in ("draw_a_letter", "touch_three_pins"):
            runs[name] = runpy.run_path(str(DOCS.parent / "examples" / f"{name}.py"))["run"]
    run = runs["draw_a_letter"]
    still(run, "inverse_letter", t=run.t[[5, 40, -1]], trails=True, tips=["upper"], ghosts="time")
    run = runs["touch_three_pins"]
    still(run, "inverse_finger", t=[run.t[-1]], view="z")


def viscoelastic() -> None:
    """What a finger remembers of a pull."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_figure(runpy.run_path(str(DOCS.parent / "examples" / "relax_a_finger.py"))["figure"], "relaxing_finger")


def optimal_control() -> None:
    """The three swing-ups of the page on optimal control, one beside the other."""
    example = ast.parse((DOCS.parent / "examples" / "swing_up.py").read_text(encoding="utf-8"))
    example.body = [one for one in example.body if not isinstance(one, ast.For)]
    names: dict[str, Any] = {}
    exec(compile(example, "swing_up.py", "exec"), names)
    images = []
    for name in names["TASKS"]:
        run = names["swing_up"](name)[1]
        with tempfile.TemporaryDirectory() as folder:
            times = [0.0, 1.0, 1.8, 2.2, 2.5, 3.0]
            run.still(Path(folder) / "one.png", t=times, size=(420, 400), ghosts="time", trails=True, view=VIEWS[name])
            images.append(Image.open(Path(folder) / "one.png").convert("RGB"))
    write(beside(images), "swing_up")


def reject_a_push() -> None:
    """The figure of the example of MPC with an observer."""
    write_figure(runpy.run_path(str(DOCS.parent / "examples" / "reject_a_push.py"))["figure"], "reject_a_push")


def design() -> None:
    """The finger of the page on designs before and after, pulled and pressed."""
    cases = dict(zip(("pull", "press"), robots("design.md")[:2], strict=True))
    limits = {"pull.bend.angle": ("90 deg", "170 deg"), "pull.mass": (None, "15 g"), "wall": ("1 mm", None)}
    best = sorosim.design(
        cases, {"radius": "links.finger.rod.section.circle.radius", "offset": "actuators.tendon.tendon.z"},
        "press.touch.f_z", limits, {"radius": ("3 mm", "12 mm"), "offset": ("1 mm", "12 mm")},
        define={"wall": {"sum": {"radius": 1, "offset": -1}}},
    )  # fmt: skip
    images = []
    for name, before in cases.items():
        for robot in (before, best.robots[name]):
            eq = sorosim.statics(robot)
            with tempfile.TemporaryDirectory() as folder:
                eq.still(Path(folder) / "one.png", size=(300, 300), view="front", title="", colour="plain")
                images.append(Image.open(Path(folder) / "one.png").convert("RGB"))
    write(beside(images), "design")


def design_motion() -> None:
    """The pointer of the page on designs: how far its tip is off, and shapes over the swing."""
    text, names = (DOCS / "design.md").read_text(encoding="utf-8"), dict[str, Any](np=np, sorosim=sorosim)
    file, code = (re.findall(rf"^```{kind}\n(.*?)^```", text, re.DOTALL | re.MULTILINE) for kind in ("yaml", "python"))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("pointer.yaml").write_text(next(one for one in file if "name: pointer" in one), encoding="utf-8")
        exec(next(one for one in code if "def hold" in one), names)
    pointer, hold = names["swing"]["robot"], names["hold"]
    before = sorosim.simulate(pointer, "1.5 s", dt_out="5 ms", controller=hold, dt_control="5 ms")
    runs = {"as it was": before, "best gains": names["one"].runs[""], "best gains and radii": names["both"].runs[""]}
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.5), layout="constrained", width_ratios=(1.5, 1, 1))
    colours = dict(zip(runs, ("0.6", "C0", "C3"), strict=True))
    for name, run in runs.items():
        off = np.linalg.norm(run.tip() - [0.15, 0.2598, 0.0], axis=1)
        axes[0].plot(run.t, 1e3 * off, color=colours[name], label=name)
    axes[0].set(xlabel="time [s]", ylabel="tip off its goal [mm]", ylim=(0.0, None))
    axes[0].legend(frameon=False)
    for axis, name in zip(axes[1:], list(runs)[1:], strict=True):
        run = runs[name]
        radius = sorosim.scalars(run.robot)
        ends = [radius[f"links.arm.rod.section.circle.radius[{k}]"] for k in (0, 1)]
        s = np.linspace(0.0, 1.0, 25)
        for k in range(0, len(run.t), 20):
            places = np.array([run.robot.pose(run.q[k], "arm", s=x) for x in s])
            sides = places[:, :3, 1] * np.interp(s, [0, 1], ends)[:, None]
            outline = np.concatenate([places[:, :3, 3] + sides, (places[:, :3, 3] - sides)[::-1]])
            axis.fill(1e3 * outline[:, 0], 1e3 * outline[:, 1], color=colours[name], alpha=0.2, linewidth=0)
        axis.plot(150, 259.8, "k+", markersize=12)
        axis.set(title=name, aspect="equal", xlabel="x [mm]", ylabel="y [mm]", xlim=(-20, 320), ylim=(-40, 310))
    write_figure(figure, "design_motion")


VIEWS = {"swing_up_cart_pole": "side", "soft_furuta": "iso", "soft_pendubot": "side"}


def walk() -> None:
    """A trot of the quadruped of the page, and its biped at rest; their files are those of example-robot-data."""
    text, names = (DOCS / "how_to" / "walk.md").read_text(encoding="utf-8"), dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for file, block in re.findall(r"^:caption: (\S+)\n\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            Path(file).write_text(block, encoding="utf-8")
        for code in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            exec(code, names)
        still(sorosim.simulate(names["robot"], "6 s"), "walker", t=(0.42, 3.08, 5.75), title="")
        still(names["stand"], "cassie", title="")


def estimation() -> None:
    """A rod that is pushed along its length: its shape and the load, with bands, from three markers."""
    robot = robots("estimation.md")[0]
    random, u = np.random.default_rng(2), np.array([1.6, 0.9, 0.9, 1.2])
    push = sorosim.LineLoad("arm", force=(0.0, "(0.5 N/m)*s", "(-1 N/m)*sin(pi*s)"))
    pushed = sorosim.Robot(dataclasses.replace(robot.description, loads={"push": push}))
    true = sorosim.statics(pushed, u + 0.1 * random.standard_normal(4))
    s, seen = np.linspace(0.0, 1.0, 61), (0.35, 0.7, 1.0)
    read = {("arm", x): pushed.pose(true.q, "arm", s=x)[:3, 3] + 1e-3 * random.standard_normal(3) for x in seen}
    unknown = {**dict.fromkeys(robot.actuator_names, "0.1 N"), "arm": "force per length"}
    est = sorosim.estimate(robot, read, unknown, "1 mm", {"arm": {"spread": "1 N/m", "length": "10 cm"}}, u)
    figure, (shape, off, load) = plt.subplots(1, 3, figsize=(11.5, 3.5), layout="constrained")
    blue, orange = "#0072b2", "#d55e00"
    commanded = sorosim.statics(robot, u)
    expected, there = (1e3 * np.array([of.robot.pose(of.q, "arm", s=x)[:3, 3] for x in s]) for of in (commanded, true))
    poses = [est.pose("arm", x) for x in s]
    line, dots = 1e3 * np.array([g[:3, 3] for g, _ in poses]), 1e3 * np.array(list(read.values()))
    half = 1.96e3 * np.sqrt([(g[:3, :3] @ C[3:, 3:] @ g[:3, :3].T)[2, 2] for g, C in poses])
    shape.plot(expected[:, 0], expected[:, 2], color="0.6", label="commanded")
    shape.plot(line[:, 0], line[:, 2], color=blue, label="estimate")
    shape.plot(dots[:, 0], dots[:, 2], "o", color=orange, label="seen, to 1 mm")
    shape.set(xlabel="x [mm]", ylabel="z [mm]", title="the rod")
    shape.legend()
    mid = line[:, 2] - expected[:, 2]
    off.fill_between(s, mid - half, mid + half, color=blue, alpha=0.2, linewidth=0.0, label="95 %")
    off.plot(s, mid, color=blue, label="estimate")
    off.plot(s, there[:, 2] - expected[:, 2], "--", color="0.2", linewidth=1.0, label="true")
    at = [int(np.argmin(np.abs(s - x))) for x in seen]
    off.plot(seen, dots[:, 2] - expected[at, 2], "o", color=orange, label="seen")
    off.set(xlabel="s", ylabel="z less that commanded [mm]", title="how far it is pushed")
    off.legend()
    mean, covariance = est.force("arm", s)
    for i, name, truth, colour in ((1, "along y", 0.5 * s, orange), (2, "along z", -np.sin(np.pi * s), blue)):
        half = 1.96 * np.sqrt(covariance[:, i, i])
        load.fill_between(s, mean[:, i] - half, mean[:, i] + half, color=colour, alpha=0.2, linewidth=0.0)
        load.plot(s, mean[:, i], color=colour, label=name)
        load.plot(s, truth, "--", color=colour, linewidth=1.0)
    load.set(xlabel="s", ylabel="[N/m]", title="force per length (dashed: true)")
    load.legend()
    write_figure(figure, "estimation")
    plt.close(figure)


def catheter_force() -> None:
    """The catheter of the page on the force at its tip: rendered, its estimates, and what a second coil brings."""
    text = (DOCS / "how_to" / "find_the_force_at_a_tip.md").read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0]
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        dump = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0]
        Path("catheter.yaml").write_text(dump, encoding="utf-8")
        exec(code, names)
        est, one, true = names["est"], names["one"], names["true"]
        true.still("still.png", size=(460, 460), colour="plain", axes=False, title="", zoom=1.15)
        shown = Image.open("still.png").convert("RGB")
    figure, (render, shape, force, second) = plt.subplots(1, 4, figsize=(14.5, 3.6), layout="constrained")
    blue, orange = "#0072b2", "#d55e00"
    render.imshow(np.asarray(shown))
    render.axis("off")
    s = np.linspace(0.0, 1.0, 61)
    poses = [est.pose("catheter", x) for x in s]
    line = 1e3 * np.array([g[:3, 3] for g, _ in poses])
    C = np.array([1e6 * g[:3, :3] @ P[3:, 3:] @ g[:3, :3].T for g, P in poses])
    across = np.array([g[:3, 2] for g, _ in poses])
    half = 1.96 * np.sqrt(np.einsum("ni,nij,nj->n", across, C, across))[:, None] * across
    for side in (line - half, line + half):
        shape.plot(side[:, 0], side[:, 2], color=blue, linewidth=0.7)
    shape.fill(*np.vstack([line - half, (line + half)[::-1]])[:, [0, 2]].T, color=blue, alpha=0.2, label="95 %")
    shape.plot(line[:, 0], line[:, 2], color=blue, label="estimate")
    there = 1e3 * np.array([true.robot.pose(true.q, "catheter", s=x)[:3, 3] for x in s])
    shape.plot(there[:, 0], there[:, 2], "--", color="0.2", linewidth=1.0, label="true")
    for read in names["readings"].values():
        p, d = 1e3 * np.array(read[:3]), 8.0 * np.array(read[3:])
        shape.annotate(
            "", (p + d)[[0, 2]], (p - d)[[0, 2]], arrowprops={"color": orange, "arrowstyle": "->", "lw": 1.6}
        )
    shape.plot([], [], color=orange, label="coils")
    push = 250.0 * names["force"]
    shape.plot([], [], color="black", label="force")
    shape.annotate("", there[-1, [0, 2]] + push[[0, 2]], there[-1, [0, 2]], arrowprops={"arrowstyle": "->", "lw": 1.6})
    shape.set(xlabel="x [mm]", ylabel="z [mm]", title="shape", aspect="equal", xlim=(-4.0, 92.0), ylim=(-5.0, 52.0))
    shape.legend(loc="upper left")
    for k, (label, found, colour) in enumerate((("one coil", one, orange), ("two coils", est, blue))):
        mean, P = found.force("catheter.tip")
        force.errorbar(
            np.arange(3) + 0.2 * k - 0.1, 1e3 * mean, yerr=1.96e3 * np.sqrt(np.diag(P)), fmt="o", color=colour,
            capsize=3.0, label=label,
        )  # fmt: skip
    force.plot(np.arange(3), 1e3 * names["force"], "_", color="0.2", markersize=30.0, label="true")
    force.set_xticks(np.arange(3), ["$f_x$", "$f_y$", "$f_z$"])
    force.set(ylabel="[mN]", title="force at the tip, 95 %")
    force.legend()
    at = np.linspace(0.1, 0.95, 18)
    for spread, colour in ((0.05, "#009e73"), (0.25, blue), (1.0, orange)):
        unknown = {**dict.fromkeys(names["commanded"], spread), "catheter.tip": "force"}
        rows = []
        for x in at:
            read = {("catheter", place): _coil(true, place) for place in (1.0, float(x))}
            found = sorosim.estimate(names["catheter"], read, unknown, names["noise"], names["prior"], true.u[:4])
            rows.append(np.sqrt(np.trace(found.force("catheter.tip")[1])))
        alone = sorosim.estimate(
            names["catheter"], {"catheter": _coil(true, 1.0)}, unknown, names["noise"], names["prior"], true.u[:4]
        )
        second.plot(at, 1e3 * np.array(rows), color=colour, label=f"tensions to {spread:g} N")
        second.axhline(1e3 * np.sqrt(np.trace(alone.force("catheter.tip")[1])), color=colour, linestyle=":")
    second.set(
        xlabel="s of the second coil",
        ylabel="[mN]",
        title="deviation of the force (dotted: one coil)",
        ylim=(0.0, None),
    )
    second.legend(loc="lower left", fontsize=8.0)
    write_figure(figure, "catheter_force")
    plt.close(figure)


def _coil(eq: Any, s: float) -> list[float]:
    """What a coil along a catheter reads without noise."""
    g = eq.robot.pose(eq.q, "catheter", s=s)
    return [*g[:3, 3], *g[:3, 0]]


def fitting() -> None:
    """The markers of the page on fits, and the arm before and after, seen in the plane in which it bends most."""
    text, arm = (DOCS / "fitting.md").read_text(encoding="utf-8"), robots("fitting.md")[1]
    table = re.search(r":caption: markers.csv\n\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert table is not None
    code = re.search(r"def beside.*?(?=silicone = )", text, re.DOTALL)
    assert code is not None
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("markers.csv").write_text(table[1], encoding="utf-8")
        names: dict[str, Any] = {"sorosim": sorosim}
        exec(code[0], names)
    numbers = ["materials.silicone.young", "materials.silicone.density"]
    fit = sorosim.fit(arm, names["markers"], numbers)
    finer = arm.with_values({"links.arm.rod.strain.bending": 3, "links.end.rod.strain.bending": 3})
    best = sorosim.fit(finer, names["markers"], numbers)
    errors = fit.errors_before, fit.errors, best.errors
    words = "before", "fitted", "fitted, bending of third order"
    labels = [f"{word}: {1e3 * one.mean_distance:.0f} mm" for word, one in zip(words, errors, strict=True)]
    figure, panels = plt.subplots(1, 3, figsize=(10.0, 4.1), sharex=True, sharey=True, layout="constrained")
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, 4))
    columns = (arm, fit.simulated_before[0]), (fit.robot, fit.simulated[0]), (best.robot, best.simulated[0])
    s = np.linspace(0.0, 1.0, 30)
    for axes, label, (robot, simulated) in zip(panels, labels, columns, strict=True):
        for row, u in enumerate(fit.data[0].bind(arm).u):
            q = sorosim.statics(robot, u).q
            line = np.array([robot.pose(q, link, s=x)[:3, 3] for link in ("arm", "end") for x in s])
            axes.plot(1e3 * line[:, 1], 1e3 * line[:, 2], color=colours[row % 4], linewidth=1.6)
            for k in range(4):
                own = slice(3 * k, 3 * k + 3)
                ends = 1e3 * np.array([simulated[row, own], fit.measured[0][row, own]])
                axes.plot(ends[:, 1], ends[:, 2], color="0.6", linewidth=0.8, zorder=1)
                axes.plot(*ends[1, 1:], "o", color=colours[row % 4], markersize=4.0)
        axes.set(title=label, xlabel="y [mm]", aspect="equal")
    panels[0].set_ylabel("z [mm]")
    figure.suptitle("Mean distance of the markers (dots) from where the arm (lines) has them", fontsize="medium")
    write_figure(figure, "fitting")
    plt.close(figure)


def solvers() -> None:
    """Energy of the turning four-bar over many turns, which nothing takes from it."""
    text = sorosim.load("four_bar").description.text
    robot = load_text(text.replace("damping: 0.1 N*mm*s/rad", "damping: 0"), "four_bar.yaml")
    ways: dict[str, dict[str, Any]] = {
        "generalized-alpha, radius 0.95": {"step": 1e-3, "spectral_radius": 0.95},
        "generalized-alpha, radius 0.8": {"step": 1e-3},
        "generalized-alpha, radius 0.5": {"step": 1e-3, "spectral_radius": 0.5},
        "bdf, rtol 1e-5": {"method": "bdf", "rtol": 1e-5, "atol": 1e-8},
        "ida, rtol 1e-5": {"method": "ida", "rtol": 1e-5, "atol": 1e-8},
    }
    figure, axes = plt.subplots(figsize=(8.0, 4.0), layout="constrained")
    for label, how in ways.items():
        run = sorosim.simulate(robot, 60.0, dt_out=0.1, **{"method": "generalized-alpha", "projection": False, **how})
        energy = run.energy().total
        change = (energy - energy[0]) / run.energy().kinetic[0]
        axes.plot(run.t, change, label=label, lw=1.0)
        print(f"{label}: {change[-1]:.1e}")
    axes.set(xlabel="time [s]", ylabel="energy gained / kinetic energy at first")
    axes.legend(loc="lower left", fontsize="small")
    write_figure(figure, "energy_of_a_loop")
    plt.close(figure)


def modes() -> None:
    """The first modes of the fishing rod of modes.md."""
    write_figure(sorosim.statics(robots("modes.md")[0]).linearize().plot(), "modes")


def buckling() -> None:
    """The column of the page on continuation."""
    column = robots("continuation.md")[0]
    found = sorosim.continuation(column, "loads.press.wrench.force[2]", to="-40 N", branches=True)
    write_figure(found.plot(), "buckling")


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    readme()
    modes()
    buckling()
    solvers()
    bundled()
    getting_started()
    own_robot()
    rigid_bodies()
    actuators()
    sensors()
    pictures()
    superellipsoid()
    concentric_tubes()
    sweeps()
    sensitivities()
    inverse_statics()
    design()
    design_motion()
    optimal_control()
    reject_a_push()
    viscoelastic()
    walk()
    estimation()
    catheter_force()
    fitting()
