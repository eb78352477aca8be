"""Measure rigid trees beside Pinocchio and draw the figures anew: python docs/make_benchmark_plots.py

Takes some minutes. Writes images/rigid_trees.png, and the table of docs/speed.md with processor, versions and
yardstick of this run.
"""

from pathlib import Path

from make_pictures import write_figure

from benchmarks.cases import amount, measured_here
from benchmarks.context import Context
from benchmarks.rigid_tree_plots import plot, table
from benchmarks.rigid_trees import NUMBERS, SHAPES, time_tree, tree
from sorosim.base.ode import one_blas_thread

DOCS = Path(__file__).resolve().parent
SHOWN = (2, 10, 50, 100, 500)


def main() -> None:
    """Measure, draw, write."""
    context, measured = Context(), {}
    with one_blas_thread():
        for shape, branching in SHAPES.items():
            measured[shape] = {}
            for n in NUMBERS:
                context.measure_yardstick()
                measured[shape][n] = time_tree(tree(n, branching))
                print(shape, n, {name: amount(value, "s") for name, value in measured[shape][n].public.items()})
    write_figure(plot(measured), "rigid_trees")
    note = measured_here(context.yardsticks, "pin")
    (DOCS / "speed_table.inc").write_text(f"{note}\n\n" + table(measured, SHOWN), encoding="utf-8")


if __name__ == "__main__":
    main()
