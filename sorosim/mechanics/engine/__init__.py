"""The arrays of one robot and bare calls of the kernels."""
