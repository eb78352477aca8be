"""M^{-1} b of chains by the extended Fixman method beside others; the plot is kept in .benchmarks/inversion.png."""

from sorosim.benchmark.inversion import measured, plot, slope
from sorosim.solvers.base import one_blas_thread

NUMBERS = (1, 2, 5, 10, 20, 50, 100, 200, 400, 1000, 2000, 5000, 10_000)


def test_solving_with_the_mass_matrix_against_the_number_of_links(benchmark, pytestconfig, capsys):
    with one_blas_thread():
        found = benchmark.pedantic(lambda: measured(NUMBERS), rounds=1)
    folder = pytestconfig.rootpath / ".benchmarks"
    folder.mkdir(exist_ok=True)
    plot(found, folder / "inversion.png")
    with capsys.disabled():
        print("\nlinks, then ms of solving with the mass matrix; the exponent is that of the last decade")
        for name, line in found.items():
            print(f"{name}: {', '.join(f'{n}: {1e3 * t:.3g}' for n, t in line.items())}; n^{slope(line):.2f}")
