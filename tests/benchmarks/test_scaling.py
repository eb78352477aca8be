"""Cost of derivatives against the number of rods; the plot is kept in .benchmarks/scaling.png."""

from sorosim.benchmark.scaling import exponents, measured, plot

NUMBERS = (1, 2, 5, 10, 20, 50, 100, 200)


def test_derivatives_against_the_number_of_rods(benchmark, pytestconfig, capsys):
    times = benchmark.pedantic(lambda: measured(NUMBERS), rounds=1)
    folder = pytestconfig.rootpath / ".benchmarks"
    folder.mkdir(exist_ok=True)
    plot(NUMBERS, times, folder / "scaling.png")
    with capsys.disabled():
        print("\nrods, then ms of inverse dynamics with derivatives, and the exponent between neighbours")
        for name, values in times.items():
            powers = ["", *(f"{p:.2f}" for p in exponents(NUMBERS, values))]
            print(name, *(f"{n}: {1e3 * t:.3g} {p}".rstrip() for n, t, p in zip(NUMBERS, values, powers, strict=True)),
                  sep="; ")  # fmt: skip
