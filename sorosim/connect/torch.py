"""Motions under held inputs as differentiable functions of PyTorch, which comes with the extra `torch`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sorosim.base.errors import InputError
from sorosim.base.validation import Number, describe
from sorosim.connect.differentiable import MotionOfArrays, argument_of, as_one_interval, motion_of_arrays
from sorosim.mechanics.robot import Robot

try:
    import torch
    from torch.autograd.function import once_differentiable
except ImportError:
    words = "sorosim.torch: expected the package torch, got none that can be imported; pip install 'sorosim[torch]'"
    raise ImportError(words, name="torch") from None


def rollout(
    robot: Robot, u: Any, dt: Number, q0: Any = None, qd0: Any = None, t0: Number = 0.0,
    numbers: Mapping[str, Any] | None = None, **options: Any,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Move a robot under a sequence of inputs, as `sorosim.rollout` does, as a differentiable function of tensors.

    Parameters
    ----------
    robot : Robot
    u : (N, n_actuators) or (..., N, n_actuators) tensor
        Inputs, each held over dt. Axes in front count members: motions of their own, on threads.
    dt : float or str
        Time over which inputs are held [s].
    q0, qd0 : (ndof,) or (..., ndof) tensor, or what `sorosim.rollout` takes
        Start. One that is no array counts as fixed.
    t0 : float or str
        Time at the start [s].
    numbers : mapping of str to () or (...) tensor, float or str
        Values that take the place of numbers of the robot's file, by path [SI]; `sorosim.scalars` lists these.
    **options
        method and its options, and driven, as in `sorosim.rollout`.

    Returns
    -------
    q, qd : (..., N + 1, ndof) tensor
        Coordinates and rates at the ends of the intervals, with the start; of the type and on the device of u.

    Raises
    ------
    InputError
        A wrong name, shape or value; in the backward pass: loads and actuators that Python computes.
    FileError
        A number that is impossible.
    ConvergenceError
        A step found no solution; ``partial`` is the motion up to there.

    Notes
    -----
    Computed in float64 on the CPU. Gradients are those of `Rollout.vjp`, by `torch.autograd`, not by transforms of
    `torch.func`, and of first order only: zero for driven
    coordinates; by the start of a robot with loops they count for changes that keep these closed. A start
    "equilibrium", that under the first inputs, changes with these and with numbers; any other is held.

    Examples
    --------
    >>> robot = sorosim.load("cable_manipulator")
    >>> u = torch.full((20, 5), 0.5, requires_grad=True)
    >>> q, qd = sorosim.torch.rollout(robot, u, "10 ms")
    >>> q[-1].square().sum().backward()  # fills u.grad
    """
    fixed = {"dt": dt, "t0": t0, **options}
    motion, arguments, members = motion_of_arrays(robot, u, q0, qd0, numbers, fixed, _tensor)
    u = arguments["u"]
    computed = [x.to("cpu", torch.float64).expand(members + motion.own[name]) for name, x in arguments.items()]
    with_graph = torch.is_grad_enabled() and any(x.requires_grad for x in computed)
    q, qd = _Motion.apply(motion, with_graph, *computed)
    return q.to(u), qd.to(u)


def step(
    robot: Robot, u: Any, q: Any, qd: Any, dt: Number, t: Number = 0.0,
    numbers: Mapping[str, Any] | None = None, **options: Any,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Move a robot by dt: `rollout` over one interval.

    Parameters
    ----------
    robot : Robot
    u : (n_actuators,) or (..., n_actuators) tensor
        Inputs.
    q, qd : (ndof,) or (..., ndof) tensor
        Coordinates and rates before.
    dt, t : float or str
        Time over which the inputs are held, and time before [s].
    numbers, **options
        As in `rollout`.

    Returns
    -------
    q, qd : (..., ndof) tensor
        Coordinates and rates after dt.

    Notes
    -----
    It knows no more of the motion before than q and qd: accelerations begin anew, as after `Stepper.reset`. A chain of
    steps by "euler", or by "newmark" without loops, is a `rollout` to the tolerance of Newton's method; by
    "generalized-alpha" each step loses the method's own accelerations, which is 2e-3 to 4e-3 of the coordinates of soft
    arms at 20 ms. `rollout` is also several times as fast.
    """
    rows = rollout(robot, as_one_interval(robot, _tensor("u", u)), dt, q, qd, t, numbers, **options)
    return rows[0][..., 1, :], rows[1][..., 1, :]


class _Motion(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """A `MotionOfArrays` in PyTorch's graph: tensors of float64 on the CPU, all with the same axes of members."""

    @staticmethod
    def forward(ctx: Any, motion: MotionOfArrays, with_graph: bool, *tensors: Any) -> Any:
        arguments = {name: x.detach().numpy() for name, x in zip(motion.own, tensors, strict=True)}
        wanted = dict(zip(motion.own, ctx.needs_input_grad[2:], strict=True))
        by = [path for path in motion.paths if with_graph and wanted[argument_of(path)]]
        motions, rows = motion.move(arguments, by=by)
        if with_graph:
            ctx.motion, ctx.motions = motion, motions
        return tuple(map(torch.from_numpy, rows))

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, misc, unused-ignore]
    def backward(ctx: Any, q_bar: Any, qd_bar: Any) -> Any:
        by = ctx.motion.pull_back(ctx.motions, q_bar.numpy(), qd_bar.numpy())
        return None, None, *(torch.from_numpy(by[name]) if name in by else None for name in ctx.motion.own)


def _tensor(name: str, value: Any) -> Any:
    """An argument as a tensor of real numbers."""
    try:
        tensor = value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value, dtype=float))
    except (TypeError, ValueError, RuntimeError):  # the last for a list of tensors
        raise InputError(name, "a tensor", describe(value)) from None
    if tensor.is_complex():
        raise InputError(name, "a tensor of real numbers", f"one of {tensor.dtype}")
    return tensor if tensor.is_floating_point() else tensor.to(torch.float64)
