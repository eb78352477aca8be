"""Places on links, as `at` gives them: a pose, where on a rod, in which frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sorosim.io.pose import Array, chained, pose_matrix
from sorosim.io.schema import LinkBlock
from sorosim.io.schema_bodies import PoseBlock
from sorosim.model.link import WORLD
from sorosim.problems import Collector, Path, shown


@dataclass
class PlaceBuilder:
    """Reads places on links.

    Parameters
    ----------
    todo : Collector
    links : mapping of str to LinkBlock
        Those that are right so far.
    """

    todo: Collector
    links: Mapping[str, LinkBlock]

    def pose(self, path: Path, at: PoseBlock | list[PoseBlock] | None, link: str) -> tuple[Array | None, float, str]:
        """Pose on a link, the place s on it, and the name of its frame, "" if none is named."""
        found, s, frame = [], 1.0, ""
        for i, pose in enumerate(at if isinstance(at, list) else [] if at is None else [at]):
            here = (*path, i) if isinstance(at, list) else path
            for key in ("s", "frame"):
                if getattr(pose, key) is not None and i > 0:
                    what = f"no {'place s' if key == 's' else key}"
                    self.todo.add((*here, key), what, "one", "only the first pose of a list has one")
            if pose.s is not None and i == 0:
                s = pose.s
                self.check_place((*here, "s"), link)
            if pose.frame is not None and i == 0:
                frame = pose.frame
                self.check_frame((*here, "frame"), frame, link)
            found.append(self.todo.attempt((*here, "rotation"), lambda pose=pose: pose_matrix(pose)))  # type: ignore[misc]
        right = [pose for pose in found if pose is not None]
        return chained(right) if len(right) == len(found) else None, s, frame

    def check_place(self, path: Path, link: str) -> None:
        """Note a place s on what is no rod."""
        block = self.links.get(link)
        if link == WORLD or (block is not None and block.rod is None):
            self.todo.add(path, "no place s", "one", f"{shown(link)} is not a rod")

    def check_frame(self, path: Path, frame: str, link: str) -> None:
        """Note a frame that the link does not have."""
        block = self.links.get(link)
        if link == WORLD or (block is not None and block.rod is not None):
            hint = "the world has none" if link == WORLD else f"{shown(link)} is a rod; say where on it, with s"
            self.todo.add(path, "no frame", shown(frame), hint)
        elif block is not None:
            self.todo.known(path, f"the name of a frame of {shown(link)}", frame, block.frames)
