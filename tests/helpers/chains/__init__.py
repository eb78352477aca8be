"""Derivatives of the dynamics of chains of hinges, by the recursions that Singh, Russell and Wensing compare.

Inverse dynamics, for given q, qd, qdd:

- `idsva_ground`, `idsva_body`: two sweeps with spatial vectors, as docs/theory.md, 4 has them; in world axes, or with
  every vector in the frame of its own body, so that it is carried from frame to frame.
- `rnea_chain_rule`: the recursive Newton-Euler algorithm differentiated line by line, in body frames; one sweep out and
  one back for each coordinate and each rate.

Forward dynamics, for given q, qd, tau: `fdsva`, `fdcr` are -M^{-1} times those, by articulated bodies in world axes;
`aba_chain_rule` is the articulated-body algorithm differentiated line by line, in body frames.

They know nothing but hinges and share nothing with the engine: they measure recursions against each other. Spatial
vectors are [angular; linear]. Derivatives are kept column by column, out[0, j, i] = dtau_i/dq_j and out[1, j, i] =
dtau_i/dqd_j, or those of qdd_i.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

HERE = Path(__file__).parent
# cached callers do not notice that what they call in another file has changed: a folder for just these sources
DIGEST = hashlib.sha256(b"".join(source.read_bytes() for source in sorted(HERE.glob("*.py")))).hexdigest()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile code that only writes into its arguments, under the options of the engine."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(HERE / "__pycache__" / DIGEST[:16])
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)
    finally:
        numba.config.CACHE_DIR = before
