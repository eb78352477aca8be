"""Motions of many members of a batch, and their derivatives, with no Python between them (docs/theory.md, 14).

Threads take members from one queue. Of the state of a member only its memory (`March.memory`) outlasts a call: what
steps need beside lies in arrays that members of the same equations share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, fetch_and_add, kernel_in_place, kernel_lazy, record_at
from sorosim.mechanics.kernels import march as mr
from sorosim.mechanics.kernels.discrete_steps import first_row, integrate_to, motion_vjp
from sorosim.mechanics.kernels.small import clear, copy

# intervals between two looks at whether to stop
AT_ONCE = 100
TAKEN, STOP = range(2)


@by_reference
class Member(NamedTuple):
    """Records of one robot in motion."""

    model: mr.Model
    march: mr.March


@by_reference
class Queue(NamedTuple):
    """Members that threads move, each the next one that none has taken."""

    address: np.ndarray  # (n, 2) int of the model and the march of each member
    chosen: np.ndarray  # (k,) int: which members
    shared: np.ndarray  # (2,) int: how many of these are TAKEN, and whether to STOP
    code: np.ndarray  # (n,) int of kernels.march, filled


@kernel_in_place
def take(queue):
    """The next member, -1: there is none left, or nobody wants it any more."""
    if fetch_and_add(queue.shared, STOP, 0) != 0:
        return -1
    k = fetch_and_add(queue.shared, TAKEN, 1)
    return queue.chosen[k] if k < queue.chosen.shape[0] else -1


@kernel_lazy()
def integrate_members(
    queue, like, ws, rows, before, after, start, count, held, substeps, dt, table, q, qd
) -> None:  # fmt: skip
    """`integrate` for members of a batch.

    like: records of the types of theirs; before, after (n, n_memory): memories, those of members whose steps fail being
    the same; start (n,), count (n,) int: when motions began, and intervals since; held (n, N, n_actuators); rows: of
    this thread. What is wanted is filled, of n members or of none: rows of all in `table`, and ends of intervals in q
    and qd (n, N + 1, ndof).
    """
    n = held.shape[1]
    h = dt / substeps
    while True:
        i = take(queue)
        if i < 0:
            return
        model, march = record_at(queue.address[i, 0], like.model), record_at(queue.address[i, 1], like.march)
        copy(before[i], march.memory)
        for j in range(rows.t.shape[0]):
            rows.t[j] = float(count[i] * substeps + j) * h + start[i]
        march.counts.row = 1
        march.counts.steps_left = 1
        first_row(march, rows)
        code, last = mr.FINISHED, 0
        while last < n and code == mr.FINISHED:
            if fetch_and_add(queue.shared, STOP, 0) != 0:
                return
            last = min(last + AT_ONCE, n)
            code = integrate_to(model, march, ws, rows, held[i], last, substeps)
        queue.code[i] = code
        if code == mr.FINISHED:
            copy(march.memory, after[i])
        else:
            copy(before[i], after[i])
        if table.t.shape[0] > 0:
            write_rows(rows, table, i)
        for k in range(n + 1 if q.shape[0] > 0 else 0):
            copy(rows.q[k * substeps], q[i, k])
            copy(rows.qd[k * substeps], qd[i, k])


@kernel_lazy()
def pull_members(
    queue, like, ws, rows, bars, held, ends, dt, table, rank, q_bar, qd_bar, cotangent, u_bar, strain, adjoint
) -> None:  # fmt: skip
    """`motion_vjp` for members of a batch, of motions that began at a reset and whose rows are in `table`.

    rank (n,): of loops at the start; q_bar, qd_bar (n, N + 1, ndof); cotangent (n, N_VECTORS, ndof) and u_bar
    (n, N, n_actuators) are filled. rows, bars (2, N + 1, ndof) and strain: of this thread; `adjoint` has no rows.
    """
    while True:
        i = take(queue)
        if i < 0:
            return
        model, march = record_at(queue.address[i, 0], like.model), record_at(queue.address[i, 1], like.march)
        read_rows(table, i, rows)
        copy(q_bar[i].reshape(-1), bars[0].reshape(-1))
        copy(qd_bar[i].reshape(-1), bars[1].reshape(-1))
        clear(cotangent[i].reshape(-1))
        clear(u_bar[i].reshape(-1))
        march.begin.closing[2] = rank[i]
        done = motion_vjp(
            model, march, ws, rows, held[i], ends, dt, True, bars, cotangent[i], strain, u_bar[i], adjoint
        )
        queue.code[i] = mr.FINISHED if done else mr.NOT_FINITE


@kernel_in_place
def write_rows(rows, table, i):
    """Rows of a member into those of all, whose arrays have an axis of members in front."""
    copy(rows.t, table.t[i])
    copy(rows.q.reshape(-1), table.q[i].reshape(-1))
    copy(rows.qd.reshape(-1), table.qd[i].reshape(-1))
    copy(rows.qdd.reshape(-1), table.qdd[i].reshape(-1))
    copy(rows.multiplier.reshape(-1), table.multiplier[i].reshape(-1))
    copy(rows.work.reshape(-1), table.work[i].reshape(-1))
    copy(rows.strain.reshape(-1), table.strain[i].reshape(-1))
    copy(rows.rank, table.rank[i])


@kernel_in_place
def read_rows(table, i, rows):
    """Rows of a member out of those of all."""
    copy(table.t[i], rows.t)
    copy(table.q[i].reshape(-1), rows.q.reshape(-1))
    copy(table.qd[i].reshape(-1), rows.qd.reshape(-1))
    copy(table.qdd[i].reshape(-1), rows.qdd.reshape(-1))
    copy(table.multiplier[i].reshape(-1), rows.multiplier.reshape(-1))
    copy(table.work[i].reshape(-1), rows.work.reshape(-1))
    copy(table.strain[i].reshape(-1), rows.strain.reshape(-1))
    copy(table.rank[i], rows.rank)
