"""Nothing leaks: malloc's own count is the same after many states as before."""

import gc
from collections.abc import Callable

import numpy as np
import pytest

from soak.measures import allocated


def bytes_in_use() -> int:
    """Bytes that malloc has handed out."""
    found = allocated()
    if found is None:
        pytest.skip("the C library has no mallinfo2")
    return found


def use_everything(register: Callable, qubits: int) -> None:
    state = register(qubits)
    state.gate("DoubleExcitation", (0, 1, 2, 3), 0.3)
    state.unitary(np.eye(8), (0, 2, 1), (3,), (1,))
    state.pauli("var_pauli", [(0.3, "XZ", (0, 1)), (0.1, "Y", (3,))])
    state.matrix_moment("expval_matrix", np.eye(4), (0, 3))
    copy = state.copy()
    copy.scale_add(state, 0.5j)
    copy.inner(state)
    copy.release()
    state.measure(2)
    state.unitary(np.eye(4), (1, 1))
    state.pauli("var_pauli", [(0.3, "XZ", (0, 9))])
    assert state.error[0] != 0
    state.release()


@pytest.mark.sample(2)
@pytest.mark.parametrize("qubits", [4, 15])
def test_nothing_leaks(register: Callable, qubits: int) -> None:
    use_everything(register, qubits)
    gc.collect()  # what tests before have left is not to be freed meanwhile
    before = bytes_in_use()
    for _ in range(100):
        use_everything(register, qubits)
    # Python's own small objects come and go; one leaked state would be 16 KiB each time.
    assert bytes_in_use() - before < 100_000


def test_the_context_knows_the_states_that_are_alive(register: Callable) -> None:
    first = register(2)
    second, third = first.copy(), first.copy()
    assert first.context.states == third.state
    for state, newest in ((second, third), (third, first)):
        state.release()
        assert first.context.states == newest.state
    first.release()
    assert first.context.states is None
