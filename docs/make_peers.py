"""Measure sorosim beside PyElastica and soromox: python docs/make_peers.py --peers PYTHON

PYTHON is the interpreter of an environment of its own with `pip install pyelastica soromox`: their versions of numba
and numpy need not be ours. Writes peers_table.inc and images/peers.png of docs/peers.md, and all that was measured to
.benchmarks/peers.json; with --draw they are written anew from that file. Takes some minutes. Not run by the tests.

The problem is a clamped cylinder released from straight under its weight. `peers_workers.py` computes it, one process a
code; all requests of one round go to the codes in turn, so that other work on the machine meets all of them.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from make_pictures import write_figure
from peers_workers import LENGTH

from benchmarks.context import processor

DOCS = Path(__file__).resolve().parent
RECORD = DOCS.parent / ".benchmarks" / "peers.json"
ROUNDS = 3
RANDOM = np.random.default_rng(1)

Request = dict[str, Any]


def along(method: str, *pairs: tuple[int, float]) -> list[Request]:
    """Requests of one method, by order of the polynomials and tolerance."""
    return [{"order": order, "method": method, "rtol": rtol} for order, rtol in pairs]


# one curve each: label, code, the requests along it
SWINGS: dict[str, tuple[str, list[Request]]] = {
    "sorosim, cvode": ("sorosim", along("cvode", (2, 1e-3), (4, 1e-3), (6, 1e-3), (6, 1e-4), (8, 1e-4))),
    "sorosim, generalized-alpha": (
        "sorosim",
        along("generalized-alpha", (2, 1e-2), (4, 1e-2), (4, 1e-3), (6, 1e-4), (6, 1e-5)),
    ),
    "soromox, tsit5": ("soromox", along("tsit5", (2, 1e-2), (4, 1e-3), (6, 1e-3))),
    "soromox, dopri8": ("soromox", along("dopri8", (2, 1e-2), (4, 1e-2), (6, 1e-2))),
    "PyElastica, as in its examples": ("elastica", [{"n": n, "longer": False} for n in (10, 20, 40, 80, 160)]),
    "PyElastica, half an element longer": ("elastica", [{"n": n, "longer": True} for n in (10, 20, 40, 80, 160)]),
}
REFERENCE = ("sorosim", along("cvode", (10, 1e-7))[0])
FINEST = ("elastica", {"n": 320, "longer": True, "part": 0.5})
SAME = along("cvode", (6, 1e-7))[0], along("tsit5", (6, 1e-6))[0]  # the same equations by two codes
SAGS = {
    "sorosim": {"order": 6},
    "soromox": {"order": 6},
    # damped as its slowest mode is critically, 2 * 4.45 / s, until 3e-6 of it are left
    "elastica": {"n": 40, "longer": True, "damping": 8.9, "seconds": 3.5},
}
ORDERS = (2, 4)  # of the single calls
LOOKS = {"sorosim": "C0", "soromox": "C1", "elastica": "C2"}


class Worker:
    """A process that answers for one code."""

    def __init__(self, python: str, name: str) -> None:
        environment = os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        command = [python, str(DOCS / "peers_workers.py"), name]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        self.versions = self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args}: ended without an answer; what it said is above")
        return dict(json.loads(line))

    def ask(self, do: str, request: Request) -> dict[str, Any]:
        """What it answers to one request."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        print(do, request, {name: value for name, value in answer.items() if isinstance(value, float)}, flush=True)
        return answer


@contextmanager
def workers(peers: str) -> Iterator[dict[str, Worker]]:
    """One of each code; they end with the block."""
    team = {
        "sorosim": Worker(sys.executable, "sorosim"),
        "soromox": Worker(peers, "soromox"),
        "elastica": Worker(peers, "elastica"),
    }
    try:
        yield team
    finally:
        for worker in team.values():
            worker.process.kill()


def state(order: int) -> Request:
    """Coordinates of a bent and moving rod."""
    shape = (6, order + 1)  # higher polynomials less
    q = 0.3 ** np.arange(1, order + 2) * RANDOM.standard_normal(shape)
    return {"order": order, "q": q.ravel().tolist(), "qd": RANDOM.standard_normal(shape).ravel().tolist()}


def measure(peers: str) -> dict[str, Any]:
    """Everything, in rounds."""
    with workers(peers) as team:
        found: dict[str, Any] = {
            "date": date.today().isoformat(),
            "machine": f"{processor()} shared with other work",
            "versions": {name: worker.versions for name, worker in team.items()},
        }
        for name, (code, request) in (("reference", REFERENCE), ("finest", FINEST)):
            found[name] = team[code].ask("swing", request)
        found["same"] = [team[code].ask("swing", r) for code, r in zip(("sorosim", "soromox"), SAME, strict=True)]
        states = {order: state(order) for order in ORDERS}
        rounds: list[dict[str, Any]] = []
        for _ in range(ROUNDS):
            swings = {
                label: [team[code].ask("swing", request) for request in requests]
                for label, (code, requests) in SWINGS.items()
            }
            sags = {code: team[code].ask("sag", request) for code, request in SAGS.items()}
            calls = {
                str(order): {code: team[code].ask("calls", states[order]) for code in ("sorosim", "soromox")}
                for order in ORDERS
            }
            rounds.append({"swings": swings, "sags": sags, "calls": calls})
    return found | {"rounds": rounds}


def off(path: Any, other: Any) -> float:
    """Largest distance of two paths, as a part of the length."""
    return float(np.linalg.norm(np.subtract(path, other), axis=-1).max()) / LENGTH


def middle(found: dict[str, Any], *keys: Any) -> float:
    """Median over the rounds of one number."""

    def pick(part: Any) -> float:
        for key in keys:
            part = part[key]
        return float(part)

    return median(map(pick, found["rounds"]))


def limits(found: dict[str, Any]) -> dict[str, Any]:
    """The path that each code converges to: PyElastica's has other equations where a rod stretches."""
    return {name: found["finest" if name == "elastica" else "reference"]["tip"] for name in LOOKS}


def curves(found: dict[str, Any]) -> dict[str, list[tuple[Request, float, float, float]]]:
    """For each curve its requests, CPU times, errors against the own limit, errors against the reference."""
    goals, reference, first = limits(found), found["reference"]["tip"], found["rounds"][0]["swings"]
    return {
        label: [
            (
                request,
                middle(found, "swings", label, i, "cpu"),
                off(first[label][i]["tip"], goals[code]),
                off(first[label][i]["tip"], reference),
            )
            for i, request in enumerate(requests)
        ]
        for label, (code, requests) in SWINGS.items()
    }


def plot(found: dict[str, Any]) -> Any:
    """Work and precision, and the path of the tip."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", width_ratios=(3, 2))
    marks = iter(("o-", "s--", "o-", "s--", "o-", "s--"))
    for label, points in curves(found).items():
        _, cpu, error, _ = zip(*points, strict=True)
        left.loglog(cpu, error, next(marks), color=LOOKS[SWINGS[label][0]], label=label, markersize=4)
    left.set(xlabel="CPU time [s]", ylabel="error of the tip / length of the rod", title="One second of motion")
    left.grid(which="major", alpha=0.3)
    left.legend(fontsize=8)
    for name, key, style in (("sorosim, reference", "reference", "-"), ("PyElastica, finest", "finest", "--")):
        path = np.array(found[key]["tip"])
        right.plot(
            path[:, 0], path[:, 2], style, color=LOOKS["sorosim" if key == "reference" else "elastica"], label=name
        )
    right.set(xlabel="x [m]", ylabel="z [m]", title="Path of the tip", aspect="equal")
    right.grid(alpha=0.3)
    right.legend(fontsize=8)
    return figure


def row(*cells: Any) -> str:
    return "| " + " | ".join(map(str, cells)) + " |\n"


def time_of(seconds: float) -> str:
    """With a unit, to two figures."""
    scale, unit = next((s, u) for s, u in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if seconds >= s or u == "us")
    return f"{seconds / scale:.3g} {unit}" if seconds < 100 else f"{seconds:.0f} s"


def words(request: Request) -> str:
    """The resolution and the tolerance of a run."""
    if "n" in request:
        return f"{request['n']} elements"
    return f"order {request['order']}, rtol {request['rtol']:.0e}"


def table(found: dict[str, Any]) -> str:
    """The tables of the page."""
    versions = "; ".join(", ".join(f"{k} {v}" for k, v in each.items()) for each in found["versions"].values())
    text = f"Measured on {found['date']}, {found['machine']}. {versions}. CPU times, medians of {ROUNDS} rounds.\n\n"
    text += row("one second of motion", "", "CPU time", "error") + "|---|---|---|---|\n"
    for label, points in curves(found).items():
        for request, cpu, error, _ in points:
            text += row(label, words(request), time_of(cpu), f"{error:.1e}")
    text += "\n" + row("one call", "coordinates", "sorosim", "soromox", "soromox / sorosim") + "|---|---|---|---|---|\n"
    names = {"forward": "forward dynamics", "inverse": "inverse dynamics", "jacobian": "forward dynamics and Jacobian"}
    for order in ORDERS:
        for key, name in names.items():
            ours, theirs = (middle(found, "calls", str(order), code, key) for code in ("sorosim", "soromox"))
            text += row(name, 6 * (order + 1), time_of(ours), time_of(theirs), f"{theirs / ours:.2g}")
    text += "\n" + row("equilibrium", "CPU time", "tip off that of sorosim, part of the length") + "|---|---|---|\n"
    sags, ours = found["rounds"][0]["sags"], found["rounds"][0]["sags"]["sorosim"]["tip"]
    for code, name in (
        ("sorosim", "sorosim"),
        ("soromox", "soromox, Optimistix"),
        ("elastica", "PyElastica, damped motion"),
    ):
        text += row(
            name,
            time_of(middle(found, "sags", code, "cpu")),
            f"{off(sags[code]['tip'], ours):.0e}" if code != "sorosim" else "",
        )
    return text


def notes(found: dict[str, Any]) -> None:
    """What the page says in words: how far the limits are from each other, agreement of calls, first calls."""
    print("two codes, the same equations: apart by", off(*(answer["tip"] for answer in found["same"])))
    print("orders against the reference", {k: [(w, f"{e:.1e}") for w, _, e, _ in v] for k, v in curves(found).items()})
    print("finest PyElastica off the reference by", off(found["finest"]["tip"], found["reference"]["tip"]))
    first = found["rounds"][0]
    for order, answers in first["calls"].items():
        for key in ("qdd", "dqdd_dq"):
            a, b = (np.array(answers[code][key]) for code in ("sorosim", "soromox"))
            print(f"order {order}, {key}: relative difference {np.abs(a - b).max() / np.abs(a).max():.1e}")
        print("first calls", {k: round(v, 1) for k, v in answers["soromox"].items() if k.startswith("first")})
    print("first roll-outs", [round(answer["first"], 1) for answer in first["swings"]["soromox, tsit5"]])
    print("equilibria", first["sags"])


def main() -> None:
    """Measure or read, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="interpreter that has pyelastica and soromox")
    parser.add_argument("--draw", action="store_true", help="draw what was measured last")
    options = parser.parse_args()
    if options.peers:
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(measure(options.peers)), encoding="utf-8")
    elif not options.draw:
        parser.error("--peers PYTHON or --draw")
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    write_figure(plot(found), "peers")
    (DOCS / "peers_table.inc").write_text(table(found), encoding="utf-8")
    notes(found)


if __name__ == "__main__":
    main()
