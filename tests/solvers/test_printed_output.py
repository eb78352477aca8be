"""What scikit-sundae prints is left out, what others print is not."""

import io
import sys
import threading

from sorosim.analysis.solvers.printed_output import suppress_prints

LINE = "\n[cvHandleFailure, Error: -4] At t = 0 and h = 2e-15, the corrector convergence test failed.\n"


def test_only_the_failures_of_the_library_are_left_out(monkeypatch):
    seen = io.StringIO()
    monkeypatch.setattr(sys, "stdout", seen)
    with suppress_prints():
        print("a user's function at t = 1")
        print(LINE)
        print()
        print("[x, Error: -1] is theirs too", end="")
        sys.stdout.flush()
    assert seen.getvalue() == "a user's function at t = 1\n\n[x, Error: -1] is theirs too"
    print(LINE)
    assert LINE in seen.getvalue()
    assert sys.stdout is seen


def test_threads_that_come_and_go_leave_the_stream_as_it_was(monkeypatch):
    seen, inside, leave = io.StringIO(), threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "stdout", seen)

    def other():
        with suppress_prints():
            inside.set()
            leave.wait(10)
            print(LINE)

    thread = threading.Thread(target=other)
    with suppress_prints():
        thread.start()
        inside.wait(10)
    leave.set()
    thread.join()
    assert sys.stdout is seen
    assert seen.getvalue() == ""
