"""URDF: rigid robots of other programs as links of a file. `links.imported` is the whole way."""
