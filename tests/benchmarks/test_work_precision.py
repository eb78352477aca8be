"""Work against precision of a swinging rod, beside other codes; the plot is kept in .benchmarks/work_precision.png."""

from sorosim.benchmark.precision import PEERS, frontier, measured, plot, refined_tip


def test_work_against_precision(benchmark, pytestconfig, capsys):
    reference = refined_tip()
    points = benchmark.pedantic(lambda: measured(reference), rounds=1)
    folder = pytestconfig.rootpath / ".benchmarks"
    folder.mkdir(exist_ok=True)
    plot(points, folder / "work_precision.png")
    best = frontier(points)
    assert best[-1].error < 1e-5
    with capsys.disabled():
        print("\ntip error [mm], time of 10 s [s]: the fastest for their precision")
        for point in best:
            print(f"{1e3 * point.error:9.4f} {point.seconds:7.3f}  orders {point.orders}, {point.method}")
        for name, (error, seconds) in PEERS.items():
            ours = [p for p in points if p.error <= error]
            faster = min((p.seconds for p in ours), default=float("nan"))
            peer, own = f"{name}: {1e3 * error:g} mm, {seconds:g} s", f"{faster:.3f} s"
            print(f"{peer}; ours {own}, {seconds / faster:.1f} times faster")
