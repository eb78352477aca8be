"""Types of arrays of numbers, whole numbers, truth values and records."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]
Records = NDArray[np.void]  # rows of named fields, see `sorosim.base.compiled.record`
