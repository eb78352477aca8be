"""Rigid robots of other programs, in URDF, MJCF and SDF, as links of a file.

A reader for each format (`urdf`, `mjcf`, `sdf`) fills the same description (`tree`), and `links.imported` makes links
of it.
"""
