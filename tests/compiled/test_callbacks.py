"""Python called from compiled code."""

import pytest

from sorosim.base.compiled import Callback, call_python, kernel


@kernel
def ask(address, number):
    """What Python answers."""
    return call_python(address, number)


def test_compiled_code_calls_python_and_gets_its_answer():
    asked = []
    callback = Callback(lambda number: asked.append(number) or number > 2)
    assert [ask(callback.address, number) for number in (1, 2, 3)] == [0, 0, 1]
    assert asked == [1, 2, 3]
    callback.check()


@pytest.mark.parametrize("error", [ValueError("wrong"), KeyboardInterrupt()])
def test_what_python_raises_is_raised_afterwards_once(error):
    def fail(number):
        raise error

    callback = Callback(fail)
    assert ask(callback.address, 0) == 0
    with pytest.raises(type(error)):
        callback.check()
    callback.check()
