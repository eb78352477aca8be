"""The public path of `sorosim.connect.torch`."""

import sys

from sorosim.connect import torch
from sorosim.connect.torch import *  # noqa: F403

sys.modules[__name__] = torch
