"""The public path of `sorosim.connect.torch`."""

import sys

from sorosim.connect import torch as _module  # whose names, torch perhaps among them, come after it
from sorosim.connect.torch import *  # noqa: F403

sys.modules[__name__] = _module
