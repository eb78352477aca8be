"""Members of a batch as compiled code takes them: from a queue, on threads."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sorosim.analysis.motion.discrete_steps import DiscreteSteps
from sorosim.analysis.motion.threads import Workers
from sorosim.base.arrays import IntArray
from sorosim.base.compiled import Pinned
from sorosim.mechanics.kernels import march as codes
from sorosim.mechanics.kernels.march import March
from sorosim.mechanics.kernels.members import AT_ONCE, STOP, Member, Queue


class Places:
    """Where the memory of a march has what is asked for of all members: columns of an array of memories."""

    def __init__(self, march: March) -> None:
        state, begin = march.state, march.begin
        parts = {"q": state.q, "qd": state.qd, "u": begin.u, "closing": begin.closing}
        where = {name: (x.ctypes.data - march.memory.ctypes.data) // x.itemsize for name, x in parts.items()}
        self.q, self.qd, self.u = (slice(where[name], where[name] + parts[name].size) for name in ("q", "qd", "u"))
        self.rank = where["closing"] + 2
        self.time = codes.NUMBERS.fields["time"][1] // 8
        self.fresh = (codes.NUMBERS.itemsize + codes.COUNTS.fields["fresh"][1]) // 8


class _Stop:
    """Ends the work of a queue."""

    def __init__(self, shared: IntArray) -> None:
        self.shared = shared

    def set(self) -> None:
        self.shared[STOP] = 1


class MemberQueue:
    """Members of a batch for the kernels of kernels.members.

    Beside its memory a step needs arrays: members of the same steps share those of a thread, any other has its own.

    Parameters
    ----------
    steps : sequence of DiscreteSteps
        Of each member.
    """

    def __init__(self, steps: Sequence[DiscreteSteps], workers: Workers) -> None:
        self.steps, self.workers = tuple(steps), workers
        often, distinct = Counter(map(id, self.steps)), {id(one): one for one in self.steps}
        self._models = {key: Pinned(one.model) for key, one in distinct.items()}
        self._own = {key: Pinned(one.record()) for key, one in distinct.items() if often[key] == 1}
        own = {key: pin.address for key, pin in self._own.items()}
        self._address = np.array([(self._models[id(one)].address, own.get(id(one), 0)) for one in self.steps])
        # of members that may share a workspace, and all arrays of a thread
        self._kinds: dict[object, int] = {}
        self._group = np.array([self._number(one) for one in self.steps])
        self._of_threads: dict[tuple[int, int], tuple[Pinned, IntArray]] = {}

    def _number(self, steps: DiscreteSteps) -> int:
        kind = steps.shape if id(steps) in self._own else id(steps)
        return self._kinds.setdefault(kind, len(self._kinds))

    def with_member(self, i: int, steps: DiscreteSteps) -> MemberQueue:
        """The same queue, but for one member that has steps of its own."""
        out = copy.copy(self)
        out.steps = *self.steps[:i], steps, *self.steps[i + 1 :]
        old = id(self.steps[i])
        kept = old in map(id, out.steps)
        model, march = Pinned(steps.model), Pinned(steps.record())
        out._models = {key: pin for key, pin in self._models.items() if kept or key != old} | {id(steps): model}
        out._own = {key: pin for key, pin in self._own.items() if kept or key != old} | {id(steps): march}
        out._address, out._group, out._of_threads = self._address.copy(), self._group.copy(), {}
        out._kinds = dict(self._kinds)
        out._address[i], out._group[i] = (model.address, march.address), out._number(steps)
        return out

    def run(
        self, kernel: Any, chosen: IntArray, n_intervals: int, room: Callable[[DiscreteSteps], tuple[Any, ...]],
        *arrays: Any,
    ) -> IntArray:  # fmt: skip
        """Let a kernel move chosen members by so many intervals; room: arrays of a thread. Codes (n,) of kernels.march.

        If anything is raised, Ctrl-C included, no member moves any more when it is raised here.
        """
        code = np.full(len(self.steps), codes.FINISHED)
        for k in range(len(self._kinds)):
            group = chosen[self._group[chosen] == k]
            if not len(group):
                continue
            shared = np.zeros(2, dtype=np.int64)
            call = self._call(kernel, Queue(self._address, group, shared, code), room, arrays)
            n_threads = min(self.workers.n, len(group))
            call(0, prepare=True)
            if n_threads == 1 and len(group) * n_intervals <= AT_ONCE:
                call(0)
            else:
                self.workers.run_compiled(call, n_threads, _Stop(shared))
        return code

    def _call(self, kernel: Any, queue: Queue, room: Callable[[DiscreteSteps], tuple[Any, ...]], arrays: Any) -> Any:
        steps = self.steps[queue.chosen[0]]

        def call(k: int, prepare: bool = False) -> None:
            march, address = self._of_thread(k, steps)
            like = Member(steps.model, march)
            arguments = queue._replace(address=address), like, steps.engine.workspace, *room(steps), *arrays
            compiled = self.steps[0].robot.engine.prepared(kernel, arguments)
            if not prepare:
                compiled(*arguments)

        return call

    def _of_thread(self, k: int, steps: DiscreteSteps) -> tuple[Any, IntArray]:
        """A march of these steps that thread k may use, and the addresses (n, 2) that it goes by."""
        key = id(steps)
        if key in self._own:
            return self._own[key].record, self._address
        if (key, k) not in self._of_threads:
            pin, address = Pinned(steps.record()), self._address.copy()
            address[[one is steps for one in self.steps], 1] = pin.address
            self._of_threads[key, k] = pin, address
        pin, address = self._of_threads[key, k]
        return pin.record, address
