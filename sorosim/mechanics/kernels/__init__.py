"""Compiled sweeps over the tree of segments, in the world frame (docs/theory.md). Nothing here checks input."""
