"""Couplings of joints: a coordinate that follows another one, as by a gear, a belt, or a `mimic` tag of URDF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.complex_step import number_type
from sorosim.base.declare import INVALID, At, Declared, Given, key
from sorosim.base.errors import ModelError
from sorosim.base.units.quantity import quantity
from sorosim.mechanics.actuation.joint_force import (
    Coordinate,
    JointForce,
    MovingLink,
    check_direction,
    joint_kind,
    moves,
)
from sorosim.mechanics.kernels import loop_joint as lj
from sorosim.mechanics.kernels.tree import Tree
from sorosim.mechanics.model.layout import Layout

# dimension of a ratio, by those of the coordinate that follows and of the one that leads
RATIO = {
    ("angle", "angle"): "number", ("length", "length"): "number", ("length", "angle"): "length",
    ("angle", "length"): "curvature",
}  # fmt: skip
PER = {
    ("length", "angle"): "a length per angle such as 10 mm/rev",
    ("angle", "length"): "an angle per length such as 6 rad/m",
}


@dataclass(frozen=True, eq=False)
class Coupling(Declared, title="Couplings of joints"):
    """A coordinate that follows another one, q = ratio q_leader + offset, as by a gear or a belt without play.

    Its effort is the force that it puts on the coordinate that follows, N m or N; -ratio times it acts on the leader
    (docs/theory.md, 9).
    """

    link: str = key(MovingLink("links", "a link whose joint moves", fits=moves), "Link whose joint follows.", "elbow")
    leader: str = key(MovingLink("links", "a link whose joint moves", fits=moves), "Link whose joint leads.", "lid")
    ratio: Any = key(
        Given(), "Motion of the joint over that of its leader: a number, a length per angle or an angle per length.",
        "-1.5", default=None, without="`1` between joints of one kind, else it must be given",
    )  # fmt: skip
    offset: Any = key(
        Given(), "Where the joint stands when its leader is at zero.", "10 deg", default=0.0, kw_only=True
    )
    along: str = key(
        Coordinate("a direction of the joint"), "Which coordinate of a joint of several: the last word of its name.",
        "angle", default="", kw_only=True,
    )  # fmt: skip
    leader_along: str = key(
        Coordinate("a direction of the joint"), "The same of the leader.", "angle", default="", kw_only=True
    )

    def validate(self) -> None:
        if (self.link, self.along) == (self.leader, self.leader_along):
            raise ModelError("leader", "another joint", f"'{self.leader}'", "a coordinate cannot follow itself")

    @classmethod
    def read_keys(cls, data: Mapping[str, object], at: At, **values: object) -> Any:
        out = super().read_keys(data, at, **values)
        if out is INVALID:
            return out
        dimensions = []
        for name, key_of, along in ((out.link, "along", out.along), (out.leader, "leader_along", out.leader_along)):
            entry = at.scope.entry("links", name)
            kind = None if entry is None else joint_kind(entry)
            if kind is None:
                return out
            if not check_direction(at, kind, along or None, key_of):
                return INVALID
            dimensions.append(dict(kind.directions)[along] if along else kind.directions[0][1])
        for name, dimension in zip(("ratio", "offset"), (RATIO[tuple(dimensions)], dimensions[0]), strict=True):
            (at / name).number(dimension)
        return INVALID if at.attempt(lambda: out.numbers(*dimensions)) is INVALID else out

    def numbers(self, dimension: str, leader: str) -> tuple[float, float]:
        """Ratio and offset in SI units, by the dimensions of both coordinates."""
        expected = PER.get((dimension, leader), "")
        if self.ratio is None and expected:
            raise ModelError("", f"the key 'ratio', {expected}", "nothing")
        try:
            ratio = 1.0 if self.ratio is None else quantity(self.ratio, RATIO[dimension, leader], "ratio")
        except ModelError as error:
            raise (error if not expected else ModelError("ratio", expected, error.got, error.hint)) from None
        if ratio == 0.0:
            raise ModelError("ratio", "a ratio other than 0", "0", "a joint that stands still is fixed")
        return ratio, quantity(self.offset, dimension, "offset")

    def ends(self, layout: Layout) -> tuple[_End, _End]:
        """The coordinates that follow and lead; refuses what does not fit the robot."""
        return _End.of(layout, self.link, self.along, ""), _End.of(layout, self.leader, self.leader_along, "leader")

    def arrays(self, layout: Layout, tree: Tree, first_row: int) -> tuple[Any, Array, str]:
        """Its row of `Loops.row`, that of `Loops.value`, and the dimension of the coordinate that follows."""
        a, b = ends = self.ends(layout)
        ratio, offset = self.numbers(a.dimension, b.dimension)
        nodes = [int(tree.block[end.block]["first"]) for end in ends]
        row = np.zeros((), dtype=lj.LOOP)
        row["node_a"], row["node_b"] = nodes
        row["turn"], row["first_row"], row["n_rows"], row["motor"] = lj.COUPLED, first_row, 1, -1
        row["column"], row["base"] = [end.column for end in ends], [tree.block[end.block]["parent"] for end in ends]
        value = np.zeros(lj.N_VALUES, dtype=number_type())
        value[lj.PHI : lj.PHI + 12] = np.concatenate([end.form for end in ends])
        value[lj.RATIO], value[lj.OFFSET] = ratio, offset
        return row, value, a.dimension


@dataclass(frozen=True)
class _End:
    """A coordinate of a coupling."""

    column: int
    dimension: str
    block: int
    form: Array  # (6,) in the moved frame: form . twist is the rate of the coordinate alone

    @classmethod
    def of(cls, layout: Layout, name: str, along: str, prefix: str) -> _End:
        motor = JointForce(name, along)
        try:
            index = motor.index(layout)
        except ModelError as error:
            where = {"link": prefix or "link", "along": f"{prefix}_along".lstrip("_")}[error.where]
            raise ModelError(where, error.expected, error.got, error.hint) from None
        link = layout.links[name]
        joint = link.link.joint
        k = joint.stage_of(index)
        stage = joint.stages[k]
        if not stage.commutes or joint.changes_length:
            raise ModelError(prefix or "link", "a joint that turns about an axis or slides along one", joint.kind)
        form: Array = np.asarray(np.linalg.pinv(stage.columns.real)[:, index - stage.first], dtype=float)
        return cls(link.column + index, dict(joint.directions)[along], link.joint_blocks[k], form)
