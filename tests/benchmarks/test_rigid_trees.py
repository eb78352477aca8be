"""Rigid trees beside Pinocchio, compiled code and whole calls; the figure is kept in .benchmarks/rigid_trees.png."""

from sorosim.benchmark.rigid import SHAPES, figures, tree
from sorosim.benchmark.rigid_plots import plot, table
from sorosim.solvers.base import one_blas_thread

NUMBERS = (2, 10, 50, 100)


def test_rigid_trees_beside_pinocchio(benchmark, pytestconfig, capsys):
    def measure():
        return {name: {n: figures(tree(n, each)) for n in NUMBERS} for name, each in SHAPES.items()}

    with one_blas_thread():
        measured = benchmark.pedantic(measure, rounds=1)
    folder = pytestconfig.rootpath / ".benchmarks"
    folder.mkdir(exist_ok=True)
    plot(measured).savefig(folder / "rigid_trees.png", dpi=80)
    with capsys.disabled():
        print("\n" + table(measured, NUMBERS))
