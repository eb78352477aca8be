"""Undamped bars in a row, of which only the first has a motor: steps that are too long find other motions."""

import sorosim


def flail(n: int = 6) -> sorosim.Robot:
    """Bars of 1 kg and 40 cm on hinges."""
    links = {
        f"l{k}": {"joint": {"revolute": {"axis": [0, 1, 0]}},
                  "body": {"mass": 1, "centre": [0.2, 0, 0], "inertia": [1e-3, 1e-2, 1e-2]},
                  **({"parent": f"l{k - 1}", "at": {"position": [0.4, 0, 0]}} if k else {})}
        for k in range(n)
    }  # fmt: skip
    return sorosim.load(
        {"sorosim": 1, "name": "flail", "links": links, "actuators": {"motor": {"joint": {"link": "l0"}}}}
    )
