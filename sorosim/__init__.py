"""Statics and dynamics of soft-rigid robots.

The public names stand in ``__init__.pyi`` and are loaded at their first use, so that ``import sorosim`` stays light.
No folder here has the name of one of them: it would take its place as soon as anything imports it.
"""

import lazy_loader

__version__ = "1.0.0rc1"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
