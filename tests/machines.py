"""Run the tests as other processors would, and compare error with tolerance: make test-machines

What decides the last bits is emulated: the kernels of OpenBLAS and the number of its threads, the instructions of
NumPy's loops, and the mathematical functions of glibc (sin, exp, .. with or without fused multiply-add). The kernels of
sorosim are compiled for the other processor as well; without fastmath they give the same bits. Writes
docs/machines.json, from which docs/make_validation.py has a column.

    python tests/machines.py [--only NAME] .. [--report] [arguments of pytest, tests/solvers for instance]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "machines"
# kernels of OpenBLAS (for Zen it takes those of Haswell), code, threads of BLAS; other than x86-64 has its own only
CORES = (("Nehalem", "old", "1"), ("Sandybridge", "old", "2"), ("Haswell", "host", "1"), ("SkylakeX", "host", "2"))
FAR = 0.2  # tolerances are five times the worst, unless they are derived
# it fails where the processor lacks an instruction
PROBE = (
    "import numpy, threadpoolctl; x = numpy.random.rand(300, 300); numpy.linalg.svd(x @ x); "
    "print([one['architecture'] for one in threadpoolctl.threadpool_info() if one['user_api'] == 'blas'])"
)


def old_processor() -> dict[str, str]:
    """Environment of a processor of x86-64 without AVX and fused multiply-add."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    return {
        "NUMBA_CPU_NAME": "generic",
        "NPY_DISABLE_CPU_FEATURES": " ".join(found),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F",
    }


def machines() -> dict[str, dict[str, str]]:
    """Environments by name: of the host itself, and with each of the kernels of OpenBLAS."""
    found: dict[str, dict[str, str]] = {"host": {}}
    for core, code, threads in CORES:
        environment = {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": threads}
        environment |= old_processor() if code == "old" else {}
        probe = subprocess.run(
            [sys.executable, "-c", PROBE], env=os.environ | environment, capture_output=True, text=True, check=False
        )
        if probe.returncode == 0 and core in probe.stdout:
            found[f"{code}-{core}-{threads}"] = environment
        else:
            print(f"this machine does not run OpenBLAS for {core}")
    return found


def run(name: str, environment: dict[str, str], arguments: list[str]) -> bool:
    """Run the tests on one of them; whether they ran. numba's cache keeps code of either kind apart."""
    print(f"\n{name}", flush=True)
    found = BUILD / f"{name}.json"
    found.unlink(missing_ok=True)
    # assertions are rewritten with the hook that hands their values over: compiled tests of their own
    environment = os.environ | environment | {"PYTHONPYCACHEPREFIX": str(BUILD / "pycache")}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-o", "enable_assertion_pass_hook=true"]
    named = any((ROOT / word.partition("::")[0]).exists() for word in arguments)
    command += [f"--margins={found}", *arguments, *(() if named else ("tests",))]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    return found.exists()


def ratios(run: dict[str, Any]) -> dict[tuple[str, str], float]:
    """The largest error over tolerance of every comparison (file, quantity) and plain assertion (test, assertion)."""
    found: dict[tuple[str, str], float] = defaultdict(float)
    for row in run["agreements"]:
        key = row["file"], row["quantity"]
        found[key] = max(found[key], row["deviation"] / row["tolerance"])
    for test, assertion, ratio in run["margins"]:
        found[test, assertion] = max(found[test, assertion], ratio)
    return found


def report() -> int:
    """Print the worst over all runs that are there, and write those of comparisons; 1 if a test failed or may fail."""
    runs = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(BUILD.glob("*.json"))}
    every = {name: ratios(one) for name, one in runs.items()}
    bounds = {(row["file"], row["quantity"]): row["bound"] for one in runs.values() for row in one["agreements"]}
    comparisons: dict[str, dict[str, float]] = defaultdict(dict)
    near, plain = [], []
    print("\nerror / tolerance: worst, difference between processors, where it is worst, what is compared\n")
    keys = {key for one in every.values() for key in one}
    for key, each in sorted(((key, {n: one[key] for n, one in every.items() if key in one}) for key in keys),
                            key=lambda one: -max(one[1].values())):  # fmt: skip
        at = max(each, key=lambda name: each[name])
        worst, spread = each[at], each[at] - min(each.values())
        words = f"{worst:9.2g} {spread:9.1g}  {at:18} {key[0]}: {' '.join(key[1].split())}"
        if key in bounds:
            comparisons[key[0]][key[1]] = float(f"{worst:.2g}")
            print(words + (f" (bound: {bounds[key]})" if bounds[key] else ""))
            if worst > FAR and not bounds[key]:
                near.append(words)
        elif worst + 4.0 * spread > 1.0 and spread > 0.0:  # five times what the processor adds
            plain.append(words)
    print(f"\n{len(near)} of {len(bounds)} comparisons above {FAR} of a tolerance that is not derived", *near, sep="\n")
    print(f"\n{len(plain)} of {len(keys) - len(bounds)} plain assertions less than five times what processors change "
          "from their tolerance", *plain, sep="\n")  # fmt: skip
    print("\nprocessor            tests  failed   worst ratio of a tolerance that is not derived")
    for name, one in runs.items():
        worst = max((every[name][key] for key in every[name] if not bounds.get(key, "plain")), default=0.0)
        print(f"{name:20} {one['tests']:5} {len(one['failed']):7}   {worst:.2g}", *one["failed"], sep="\n    failed: ")
    record = {"processors": list(runs), "host": host(), "ratios": comparisons}
    text = json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True)
    (ROOT / "docs" / "machines.json").write_text(text + "\n", encoding="utf-8")
    return int(bool(near) or any(one["failed"] for one in runs.values()))


def host() -> str:
    """Name of this processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="this one; may be given several times")
    parser.add_argument("--report", action="store_true", help="print what is there, run nothing")
    given, rest = parser.parse_known_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    chosen = {} if given.report else {n: v for n, v in machines().items() if not given.only or n in given.only}
    ran = [run(name, variables, rest) for name, variables in chosen.items()]
    sys.exit(report() or int(not all(ran)))
