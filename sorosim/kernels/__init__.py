"""Compiled sweeps over the tree of segments. They work in the world frame (docs/theory.md); nothing here checks input."""
