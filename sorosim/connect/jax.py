"""Motions under held inputs as differentiable functions of JAX, which comes with the extra `jax`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sorosim.analysis.motion.discrete_steps import DiscreteSteps
from sorosim.base.errors import InputError
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, describe
from sorosim.connect.differentiable import MotionOfArrays, as_one_interval, motion_of_arrays
from sorosim.mechanics.robot import Robot

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    words = "sorosim.jax: expected the package jax, got none that can be imported; pip install 'sorosim[jax]'"
    raise ImportError(words, name="jax") from None


def rollout(
    robot: Robot, u: Any, dt: Number, q0: Any = None, qd0: Any = None, t0: Number = 0.0,
    numbers: Mapping[str, Any] | None = None, **options: Any,
) -> tuple[jax.Array, jax.Array]:  # fmt: skip
    """Move a robot under a sequence of inputs, as `sorosim.rollout` does, under `jit`, `grad` and `vmap`.

    Parameters
    ----------
    robot : Robot
    u : (N, n_actuators) or (..., N, n_actuators) array
        Inputs, each held over dt. Axes in front count members, as those of `vmap` do: motions of their own, on threads.
    dt : float or str
        Time over which inputs are held [s].
    q0, qd0 : (ndof,) or (..., ndof) array, or what `sorosim.rollout` takes
        Start. One that is no array counts as fixed.
    t0 : float or str
        Time at the start [s].
    numbers : mapping of str to () or (...) array, float or str
        Values that take the place of numbers of the robot's file, by path [SI]; `sorosim.scalars` lists these. Those
        that are no arrays are fixed.
    **options
        method and its options, and driven, as in `sorosim.rollout`.

    Returns
    -------
    q, qd : (..., N + 1, ndof) array
        Coordinates and rates at the ends of the intervals, with the start; of the type of u.

    Raises
    ------
    InputError
        A wrong name, shape or option. What is wrong with values (InputError, FileError), a step without a solution
        (ConvergenceError) and derivatives by what Python computes (InputError) are found when the motion is computed:
        inside `jit` they are the text of a `jax.errors.JaxRuntimeError`.

    Notes
    -----
    Computed in float64 on the CPU. JAX hands float32 over unless ``jax.config.update("jax_enable_x64", True)`` was
    called at the begin: then inputs and results are rounded to that. Gradients are those of `Rollout.vjp`, of first
    order, in reverse mode: zero for driven coordinates; by the start of a robot with loops they count for changes
    that keep these closed. A start "equilibrium", that under the first inputs, changes with these and with numbers; any
    other is held. A gradient computes the motion once more, since JAX may move, repeat or drop the passes: so nothing
    is kept between them.

    Examples
    --------
    >>> robot = sorosim.load("cable_manipulator")
    >>> cost = lambda u: (sorosim.jax.rollout(robot, u, "10 ms")[0][-1] ** 2).sum()
    >>> gradient = jax.jit(jax.grad(cost))(jnp.full((20, 5), 0.5))
    """
    amount("t0", t0, "time")
    # refuses at once what is wrong, not out of a callback
    DiscreteSteps(robot, dt, options.get("driven"), {name: x for name, x in options.items() if name != "driven"})
    fixed = {"dt": dt, "t0": t0, **options}
    motion, arguments, members = motion_of_arrays(robot, u, q0, qd0, numbers, fixed, _array)
    function = jax.custom_vjp(partial(_rows, motion))
    function.defvjp(partial(_rows_and_arguments, motion), partial(_cotangents, motion))
    q, qd = function({name: jnp.broadcast_to(x, members + motion.own[name]) for name, x in arguments.items()})
    return q, qd


def step(
    robot: Robot, u: Any, q: Any, qd: Any, dt: Number, t: Number = 0.0,
    numbers: Mapping[str, Any] | None = None, **options: Any,
) -> tuple[jax.Array, jax.Array]:  # fmt: skip
    """Move a robot by dt: `rollout` over one interval.

    Parameters
    ----------
    robot : Robot
    u : (n_actuators,) or (..., n_actuators) array
        Inputs.
    q, qd : (ndof,) or (..., ndof) array
        Coordinates and rates before.
    dt, t : float or str
        Time over which the inputs are held, and time before [s].
    numbers, **options
        As in `rollout`.

    Returns
    -------
    q, qd : (..., ndof) array
        Coordinates and rates after dt.

    Notes
    -----
    It knows no more of the motion before than q and qd: accelerations begin anew, as after `Stepper.reset`. A chain of
    steps by "euler", or by "newmark" without loops, is a `rollout` to the tolerance of Newton's method; by
    "generalized-alpha" each step loses the method's own accelerations, which is 2e-3 to 4e-3 of the coordinates of soft
    arms at 20 ms. `rollout` is also several times as fast.
    """
    rows = rollout(robot, as_one_interval(robot, _array("u", u)), dt, q, qd, t, numbers, **options)
    return rows[0][..., 1, :], rows[1][..., 1, :]


def _rows(motion: MotionOfArrays, arguments: dict[str, Any]) -> Any:
    """Coordinates and rates; all arguments have the same axes in front, to which `vmap` may add."""
    u = arguments["u"]
    shape = jax.ShapeDtypeStruct((*u.shape[:-2], u.shape[-2] + 1, motion.robot.ndof), u.dtype)

    def computed(arguments: dict[str, Any]) -> Any:
        _, rows = motion.move(arguments)
        return tuple(x.astype(shape.dtype) for x in rows)

    return jax.pure_callback(computed, (shape, shape), arguments, vmap_method="broadcast_all")


def _rows_and_arguments(motion: MotionOfArrays, arguments: dict[str, Any]) -> Any:
    return _rows(motion, arguments), arguments


def _cotangents(motion: MotionOfArrays, arguments: dict[str, Any], bars: Any) -> Any:
    """Derivatives by the arguments, by those by the rows."""
    shapes = {name: jax.ShapeDtypeStruct(x.shape, x.dtype) for name, x in arguments.items()}

    def computed(arguments: dict[str, Any], bars: Any) -> Any:
        motions, _ = motion.move(arguments, by=motion.paths)
        by = motion.pull_back(motions, *bars)
        return {name: by[name].astype(one.dtype) for name, one in shapes.items()}

    return (jax.pure_callback(computed, shapes, arguments, bars, vmap_method="broadcast_all"),)


def _array(name: str, value: Any) -> Any:
    """An argument as an array of real numbers."""
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError):
        raise InputError(name, "an array", describe(value)) from None
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise InputError(name, "an array of real numbers", f"one of {array.dtype}")
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)
