"""A robot that marches by Newmark's or the generalised-alpha method: its arrays, its steps, and why one failed.

`simulate` (`marching.MarchIntegrator`) and steps under held inputs (`stepping.discrete_steps.DiscreteSteps`) drive it.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from sorosim.analysis.equations.failure import Trial
from sorosim.analysis.equations.system import OdeSystem
from sorosim.analysis.motion.sparse_steps import SparseSteps
from sorosim.base.arrays import Array
from sorosim.base.compiled import one_record
from sorosim.base.methods import StepMethod
from sorosim.mechanics.dynamics.energies import InternalParts
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.inputs import Motion
from sorosim.mechanics.kernels import march as codes
from sorosim.mechanics.kernels import newmark
from sorosim.mechanics.kernels.begins import apply_input_jump
from sorosim.mechanics.kernels.evaluate import DONE as EVALUATED
from sorosim.mechanics.kernels.evaluate import Evaluation, State
from sorosim.mechanics.kernels.march import March, Model, Rows
from sorosim.mechanics.kernels.tangent import Tangent, make_tangent
from sorosim.mechanics.robot import Robot

# intervals, or steps, between two looks of Python: at reports, interrupts
STEPS_AT_ONCE = 100
DONE = codes.FINISHED, codes.CONTINUES
MESSAGES = {
    codes.NO_CONVERGENCE: "Newton's method does not converge: a smaller step",
    codes.TOO_SMALL: "the step became too small",
    codes.IMPLAUSIBLE: "Newton's method finds only ends of the step faster than forces make it: a smaller step",
    codes.NOT_FINITE: "the state became infinite or NaN, or its matrix singular",
}


def tableau(method: StepMethod) -> codes.Tableau:
    """Relations of a method (docs/theory.md, 10)."""
    alpha_m, alpha_f, beta, gamma, beta_old = method.coefficients
    carry = np.array([
        [1.0, 1.0, 0.0, beta_old], [0.0, 1.0, 0.0, 1.0 - gamma],
        [0.0, 0.0, -alpha_f / (1.0 - alpha_f), alpha_m / (1.0 - alpha_f)], [0.0, 0.0, 0.0, 0.0],
    ])  # fmt: skip
    gain = np.array([beta, gamma, (1.0 - alpha_m) / (1.0 - alpha_f), 1.0])
    return codes.Tableau(carry, gain, beta + 0.5 * (alpha_m - alpha_f) - 1.0 / 6.0, (gamma - 0.5) ** 2)


def computed_in_python(robot: Robot) -> bool:
    """Whether Python computes some of a robot's loads or actuators."""
    loading = robot.engine.loading
    return bool(loading.packed.signals.callables or loading.others or loading.actuators)


class RobotMarch:
    """A robot and a method of steps; the state of a march is a record, of which there may be several.

    Attributes
    ----------
    engine : Engine
        Where materials relax, one whose stiffness and rest are those of a step.
    model : Model
        What compiled steps get beside the record.
    in_python : bool
        Whether Python computes loads, actuators or inputs: `step` and `jump` ask for them.
    """

    def __init__(self, system: OdeSystem, method: StepMethod) -> None:
        self.system, self.method, self.tableau = system, method, tableau(method)
        self.engine = system.maxwell.private_engine() if system.n_strains else system.robot.engine
        self.parts = self.engine.companion(InternalParts)
        self.sparse: SparseSteps | None = None  # where Python solves the linear systems of steps

    def take_inputs(self, inputs: Motion) -> None:
        """Make the model, before any record; inputs that are held come by `jump`."""
        engine, partition = self.engine, self.system.partition
        self.inputs = inputs
        self.in_python = bool(inputs.callables) or computed_in_python(self.system.robot)
        self.model = Model(
            engine.system, self.system.robot.engine.elastic, engine.loading.packed.laws, inputs.arrays,
            self.system.driven.arrays, partition.driven, partition.mask, engine.gravity, self.parts.passive,
            self.parts.dampers,
        )  # fmt: skip

    def allocate(self, on_tree: bool = False, sampled: bool = True) -> March:
        """A march before its start; on_tree : without matrices, but for jumps of inputs where these are sampled."""
        engine, n_strains = self.system.robot.engine, self.system.n_strains
        n, n_rows, n_inputs, n_driven = engine.ndof, engine.loop_layout.m, engine.n_actuators, len(self.model.driven)
        full, looped, loading = 0 if on_tree else n, 0 if on_tree else n_rows, engine.loading
        square = full, full
        # what a step leaves for the next one is one array, so that one copy keeps it
        shapes = (
            (codes.NUMBERS.itemsize // 8,), (codes.COUNTS.itemsize // 8,), (len(codes.StepVectors._fields) - 2, n),
            (len(codes.Multipliers._fields), n_rows), (n_inputs, 3), (n_driven, 3),
            (len(loading.packed.signals.signals), 3), (n_driven, 6), square, (full,), (full, looped), (looped, looped),
            (2, looped), (2, n_strains), (n_inputs,), (3,), (3, n_rows, full),
        )  # fmt: skip
        memory, at, parts = np.zeros(sum(map(prod, shapes))), 0, []
        for shape in shapes:
            parts.append(memory[at : at + prod(shape)].reshape(shape))
            at += prod(shape)
        number, count = one_record(codes.NUMBERS, parts[0]), one_record(codes.COUNTS, parts[1])
        vectors, multipliers, inputs, prescribed, varying, path, S, pivot, columns, G, order, strain = parts[2:14]
        u, closing, (constraint, error_by_q, rate_by_q) = parts[14:]  # nothing drifts in residuals: closing stays zero
        for name, values in self.tableau._asdict().items():
            number[name] = values
        for name in ("least_pivot", "factored_ratio"):
            number[name] = 1.0
        state = codes.StepVectors(vectors[:4], vectors[4:8], *vectors)
        begin, end = (
            State(q, qd, u, engine.gravity, self.system.partition.mask, closing)
            for q, qd in ((state.q, state.qd), (state.q_new, state.qd_new))
        )
        tangent = make_tangent(engine.tree) if on_tree else engine.companion(_no_tangent)
        closure, saddle = engine.make_closure(not on_tree)
        closure = closure._replace(constraint=constraint, error_by_q=error_by_q, rate_by_q=rate_by_q)
        matrices = np.zeros(square), np.zeros(square), np.zeros(square), np.zeros((full, n_inputs))
        out = Evaluation(np.zeros(n), *matrices, state.qdd_new, closure, saddle)
        large = n if sampled or not on_tree else 0
        own: Any = (np.zeros(shape) for shape in ((large, large), square, square, (full, n_inputs)))
        start = Evaluation._make((np.zeros(n), *own, state.qdd_begin, *engine.make_closure(large > 0)))
        return March(
            number, count, state, codes.Multipliers(*multipliers), inputs, prescribed, varying, path, S,
            pivot.view(np.int64), columns, G, order.view(np.int64), strain, tangent, np.zeros(1, dtype=np.int64), begin,
            end, out, out._replace(mass=np.zeros(square), qdd=state.qdd), start,
            loading.make_external(len(engine.tree.segment), n),
            np.zeros((max(loading.depth, self.inputs.depth, self.system.driven.depth), 3)), memory,
        )  # fmt: skip

    def room(self, *n: int) -> Rows:
        """Room for n states, or for as many of each of some members."""
        ndof, loops, strains = self.engine.ndof, self.engine.loop_layout.m, self.system.n_strains
        q, qd, qdd, multiplier, work, strain = (np.zeros((*n, k)) for k in (ndof, ndof, ndof, loops, 2, strains))
        return Rows(np.zeros(n), q, qd, qdd, multiplier, work, strain, np.zeros(n, dtype=np.int64))

    def start(self, march: March, t: float, q: Array, qd: Array, qdd: Array, strain: Array) -> None:
        """Let a march be in a state, after `OdeSystem.begin` there."""
        s = march.state
        s.q[:], s.qd[:], s.qdd[:], march.strain[0] = q, qd, qdd, strain
        march.number["time"], march.counts["most_rank"] = t, self.system.closing[2]

    def step(self, march: March, rows: Rows, most: int) -> int:
        """Advance by up to `most` steps, Python evaluating its loads and inputs between; a code of kernels.march."""
        number, s, in_python = march.number, march.state, self.in_python
        arguments = self.model, march, self.engine.workspace, rows, 1 if in_python else most
        advance = self.engine.prepared(codes.march, arguments)
        for _ in range(most if in_python else 1):  # compiled steps count anew after each return
            while True:
                code = int(advance(*arguments))
                if self.sparse is not None:
                    self.sparse.callback.check()  # raises what was raised there
                if code != codes.NEEDS_PYTHON:
                    break
                t = float(number["time"] + number["step"])
                if not march.counts["held"]:
                    march.end.u[:] = self.system.inputs.value(t)
                derive = march.counts["refactor"] in (newmark.ONCE, newmark.ALWAYS)
                self._evaluate(march, t, s.q_new, s.qd_new, march.end.u, derive)
            if code != codes.CONTINUES:
                break
        return code

    def jump(self, march: March, u: Array) -> int:
        """Let inputs jump at the begin of a step, and accelerations with them (docs/theory.md, 14); a code likewise."""
        s = march.state
        march.inputs[:, 0] = u
        if self.in_python:
            self._evaluate(march, float(march.number["time"]), s.q, s.qd, u, False)
        arguments = self.model, march, self.engine.workspace
        done = self.engine.prepared(apply_input_jump, arguments)(*arguments) == EVALUATED
        return codes.CONTINUES if done else codes.NOT_FINITE

    def _evaluate(self, march: March, t: float, q: Array, qd: Array, u: Array, tangents: bool) -> None:
        """Loads and actuators that Python computes."""
        engine, loading, external = self.engine, self.engine.loading, march.external
        if loading:
            # a jump of inputs changes the loads that they scale itself, from those of the inputs before
            engine.load_values(q, qd, march.end.u, t, external, tangents=tangents)
        if loading.actuators:
            loading.actuate(external, engine.tree, q, qd, u, engine.actuator_names, tangents)

    def trial(self, march: March) -> Trial:
        """The end of the last step as Newton's method left it."""
        s, h = march.state, float(march.number["step"])
        q, qd, qdd = (part.copy() for part in (s.q_new, s.qd_new, s.qdd_new))
        strain = self.system.maxwell.advanced(march.strain[0], q - s.q, h)
        return Trial(float(march.number["time"]) + h, q, qd, qdd, march.multiplier.new.copy(), strain)

    def last(self, march: March) -> tuple[float, Array]:
        """Time and state from which that step went."""
        s = march.state
        return float(march.number["time"]), self.system.state(s.q, s.qd, march.strain[0])

    def why(self, march: March, code: int) -> str:
        """Why it failed, in words."""
        words, contact = MESSAGES[code], march.external.contact
        if contact.counts["overflow"]:
            words += f"; more than {len(contact.entry)} contacts at once"
        if self.engine.loop_layout.m:
            words += self.system.loop_monitor.describe_failed_step(march.out.closure.error)
        return words


def _no_tangent(engine: Engine) -> Tangent:
    """Empty factors along the tree, for steps with matrices."""
    tree = engine.tree
    return make_tangent(tree._replace(segment=tree.segment[:0], block=tree.block[:0], rows=tree.rows[:0]))
