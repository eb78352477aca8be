"""What the keys of sweep files mean, with an example for each, for their JSON Schema."""

from __future__ import annotations

from sorosim.io.descriptions_contact import Keys

_SAMPLED = "{n: 1000, seed: 1, over: {u.cable1: [0, 10 N], u.cable2: [0, 10 N]}}"

SWEEP_BLOCKS: dict[str, Keys] = {
    "SweepFile": {
        "sorosim_sweep": ("Version of the format of sweeps.", "1"),
        "robot": ("The file of a robot, beside this one, or the name of a bundled robot.", "cable_manipulator"),
        "name": ("Name of the sweep, for people.", "workspace"),
        "set": ("Values of the robot's file to replace, by their paths, for all points.",
                "{links.arm.rod.length: 40 cm}"),
        "points": ("Where the robot is looked at.", "{grid: {u.cable1: [0, 5 N, 10 N]}}"),
        "task": ("What is computed at each point: statics (the default), or motions.", "{simulate: {t_end: 2 s}}"),
        "u": ("Inputs with one value for all points; others are those of the robot's file.", "{cable2: 3 N}"),
        "driven": ("Driven coordinates with one value for all points, likewise.", "{base: 5 mm}"),
        "outputs": ("Places whose poses are kept; without it the ends of all links with a body.",
                    "[arm, {link: arm, s: 0.5}]"),
        "summary": ("Numbers that each run comes down to, by name.", "{highest: {max: arm.z}}"),
        "start": ("Whether an equilibrium starts from that of the point before it (warm, the default), anew (cold), or "
                  "follows the curve of equilibria from there (follow).", "cold"),
        "block": ("Points that are computed one after the other; 50 for statics, 1 for motions where it is not given.",
                  "20"),
    },
    "PointsBlock": {
        "grid": ("All combinations of values.", "{u.cable1: [0, 5 N], links.arm.rod.length: [40 cm, 50 cm]}"),
        "random": ("Independent random points.", _SAMPLED),
        "latin_hypercube": ("Random points, one in each of n slices of every parameter.", _SAMPLED),
        "sobol": ("Scrambled Sobol points, best where n is a power of two.", _SAMPLED),
        "path": ("Straight ways from corner to corner.", "{through: {u.cable1: [0, 10 N, 10 N]}, steps: 20}"),
        "csv": ("A table whose first row are the names; a row is a point.", "points.csv"),
        "list": ("The points themselves.", "[{u.cable1: 0}, {u.cable1: 5 N}]"),
    },
    "SpanBlock": {
        "from": ("First value.", "0"), "to": ("Last value.", "10 N"), "n": ("How many values, evenly spaced.", "11"),
    },
    "SampledBlock": {
        "n": ("How many points.", "1000"),
        "seed": ("Whole number that they are drawn by.", "1"),
        "over": ("Least and greatest value of each parameter.", "{u.cable1: [0, 10 N]}"),
    },
    "PathBlock": {
        "through": ("Values of each parameter at the corners.", "{u.cable1: [0, 10 N, 10 N], u.cable2: [0, 0, 10 N]}"),
        "steps": ("Steps from each corner to the next.", "20"),
    },
    "SweptRun": {
        "simulate": ("Motions, with options of sorosim.simulate.", "{t_end: 2 s, method: cvode}"),
    },
    "SweptRunBlock": {
        "t_end": ("End of the runs.", "2 s"), "dt_out": ("Interval of the results.", "10 ms"),
        "method": ("Integrator.", "cvode"), "rtol": ("Relative tolerance.", "1e-4"),
        "atol": ("Absolute tolerance.", "1e-7"), "step": ("Fixed step of newmark and generalized-alpha.", "1 ms"),
        "spectral_radius": ("What generalized-alpha leaves of too stiff motions.", "0.8"),
        "q0": ("Start: equilibrium, assembled, or a list of coordinates.", "equilibrium"),
        "keep_runs": ("Whether whole runs are kept, in a folder beside the result.", "true"),
    },
    "PlaceBlock": {
        "link": ("Name of a link.", "arm"), "s": ("Place on a rod, 0 to 1 (the tip, the default).", "0.5"),
    },
}  # fmt: skip

SWEEP_TITLES = {
    "SweepFile": "Sweep of sorosim", "PointsBlock": "Points", "SpanBlock": "Evenly spaced values",
    "SampledBlock": "A sample", "PathBlock": "A path", "SweptRun": "Motions", "SweptRunBlock": "Options of motions",
    "PlaceBlock": "A place on a link",
}  # fmt: skip

SWEEP_ABOUT = (
    "Version 1 of the format of sorosim's sweeps. What varies has the name u.NAME (the input of an actuator), "
    "driven.NAME (a driven coordinate), or the path of a value in the robot's file, as --set takes it. Numbers are in "
    "SI units unless a text gives a unit."
)
