"""The stored numbers of the original toolbox, see tests/data/reference/README.md."""

import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "data" / "reference"


def reference(name: str) -> dict[str, Any]:
    """Contents of ``cdm_<name>.json``, lists of numbers as arrays; signs as there: a pulled cable has u < 0."""
    content = json.loads((FOLDER / f"cdm_{name}.json").read_text("utf-8"))
    return {key: _as_array(value) for key, value in content.items()}


def _as_array(value: Any) -> Any:
    if isinstance(value, list) and not any(isinstance(part, dict | str) for part in value):
        return np.array(value, dtype=float)
    return value
