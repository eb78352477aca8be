"""Compilation of the engine, apart from runs whose time is printed."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from contextlib import suppress
from typing import Annotated, Any

import typer

from sorosim.base.errors import InputError, ModelError
from sorosim.base.options import SimulateArguments
from sorosim.connect.cli.console import err, status_lines
from sorosim.connect.cli.options import Flag, with_options
from sorosim.connect.cli.sources import load_robot


def compile_engine(robot: Any, method: str | None = None, *, everything: bool = False) -> bool:
    """Compile what a robot and a method need; returns whether anything was."""
    import sorosim
    from sorosim.analysis.motion.marching import compile_march
    from sorosim.base.compiled import ALL_FEATURES, reporting
    from sorosim.base.methods import MARCHES
    from sorosim.mechanics.dynamics.forward import FORWARD

    begin, zero = time.monotonic(), [0.0] * robot.ndof
    with status_lines() as report, reporting(report, ALL_FEATURES if everything else frozenset()):
        with suppress(ModelError):  # a singular mass matrix: the command itself reports it
            robot.forward_dynamics_derivatives(zero, zero)
        robot.outputs.poses(robot.initial_q)
        # what follows the steps of integrators
        sorosim.simulate(sorosim.load("pendulum"), "1 ms", dt_out="1 ms", method="bdf")
        if method in MARCHES or everything:
            compile_march(robot.engine.features)
        if everything:
            rigid, rest = sorosim.load("double_pendulum"), [0.0, 0.0]
            for algorithm in FORWARD:
                rigid.forward_dynamics(rest, rest, algorithm=algorithm)
            derivatives = sorosim.sensitivities(rigid, list(sorosim.scalars(rigid))[:1])
            derivatives.inverse_dynamics(rest, rest, qdd=rest)
            _rehearse()
    if report.n_lines:
        err().print(f"compiled in {time.monotonic() - begin:.0f} s")
    return bool(report.n_lines)


def _rehearse() -> None:
    """Call once what Python calls of loops, contacts, statics, steps and their derivatives."""
    import sorosim

    sorosim.simulate(sorosim.load("contact_cylinder"), "1 ms", dt_out="1 ms", method="bdf")
    sorosim.statics(sorosim.load("four_bar"))
    robot = sorosim.load("two_segment_arm")
    robot.mass_matrix(robot.initial_q)
    robot.jacobian(robot.initial_q, robot.links[-1].name)
    stepper = sorosim.Stepper(robot, "1 ms")
    stepper.reset()
    stepper.step()
    stepper.linearize()
    motion = sorosim.rollout(robot, [[0.0] * len(robot.actuator_names)], "1 ms")
    motion.vjp(q_bar=motion.q)
    motion.jvp(u=[[1.0] * len(robot.actuator_names)])
    batch = sorosim.Batch(robot, 2, "1 ms", tolerance=1e-11)
    batch.statics()
    batch.reset()
    batch.rollout([[0.0] * len(robot.actuator_names)])
    batch.vjp()


def _compile_portable(robot: str, everything: bool, method: str | None) -> None:
    """Compile in a process that takes itself to be on another processor."""
    from sorosim.base.compiled import PORTABLE, portable_environment

    environment = portable_environment()
    if environment is None:
        raise InputError("--portable", f"a processor of {' or '.join(PORTABLE)}", platform.machine())
    command = [sys.executable, "-m", "sorosim", "compile", robot, *(["--all"] if everything else [])]
    command += ["--method", method] if method else []
    code = subprocess.run(command, env=os.environ | environment, check=False).returncode
    if code:
        raise typer.Exit(code)


@with_options(SimulateArguments, "method", "that of the file")
def compile_(
    robot: Annotated[
        str, typer.Argument(metavar="ROBOT", help="The robot that the engine is compiled for.")
    ] = "cable_manipulator",
    everything: Annotated[bool, Flag("--all", help="For all robots, methods, algorithms and sensitivities.")] = False,
    portable: Annotated[
        bool, Flag("--portable", help="For all processors of the last ten years, kept inside of the package.")
    ] = False,
    *,
    options: dict[str, Any],
) -> None:
    """Compile the engine ahead of its use: in images of machines, on clusters, before tests.

    Compiled code is kept in the folder SOROSIM_CACHE_DIR, or in the user's cache. With --portable it is for
    x86-64-v3 (AVX2 and FMA) or ARMv8, and kept inside of the package: for images that run on other machines, and
    for wheels. Where it does not fit, it is not used.

    Example: sorosim compile --all
    """
    if portable:
        _compile_portable(robot, everything, options["method"])
        return
    loaded = load_robot(robot)
    method = options["method"] or loaded.description.simulate.get("method")
    if not compile_engine(loaded, method, everything=everything):
        err().print("everything was compiled before")
