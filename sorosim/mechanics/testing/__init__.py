"""Checks for authors of plug-ins, to be run in their own tests; sorosim's own tests run them, too.

Each check returns a `Report` of the worst errors, or raises a `ContractError` with the plug-in, the rule, the place and
a hint.
"""

from sorosim.mechanics.testing.actuators import check_actuator
from sorosim.mechanics.testing.bases import check_basis
from sorosim.mechanics.testing.loads import check_load
from sorosim.mechanics.testing.report import ContractError, Report

__all__ = ["ContractError", "Report", "check_actuator", "check_basis", "check_load"]
