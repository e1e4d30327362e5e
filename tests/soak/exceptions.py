"""Exceptions in callbacks, of every kind, from one thread and from eight, also through XLA."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import for_loop, qjit
from diastase_runtime.errors import DiastaseError
from soak.programs import device
from soak.scenarios import OF_THREADS, Steps, scenario
from soak.threads import rounds

KINDS = (ValueError, SystemExit, KeyboardInterrupt, StopIteration, MemoryError, GeneratorExit)


class Failing:
    """Programs that call Python, which raises for numbers below zero."""

    def __init__(self) -> None:
        shape = jax.ShapeDtypeStruct((), float)

        def raise_or_double(x: jax.Array) -> np.ndarray:
            number = float(x)
            if number < 0:
                raise KINDS[int(-number) % len(KINDS)](number)
            return np.asarray(number * 2)

        def doubled(x):
            return jax.pure_callback(raise_or_double, shape, x)

        @qml.qnode(device(8))
        def circuit(x):
            qml.RX(doubled(x), 0)
            return qml.expval(qml.Z(0))

        def with_arrays(x):
            """What is allocated before and after is freed."""
            before = jnp.sin(jnp.full(20_000, x))
            after = for_loop(0, 3, 1)(lambda _, s: s + doubled(x))(before)
            return after[:6000], before

        self.functions: list[Callable] = [qjit(doubled), qjit(circuit), qjit(with_arrays)]
        self.right: list[Callable[[float], float]] = [
            lambda x: 2 * x,
            lambda x: np.cos(2 * x),
            lambda x: np.sin(x) + 6 * x,
        ]

    def check(self, number: int) -> None:
        """One call, which fails in two of three cases."""
        which, value = number % len(self.functions), number % 17 - 10.0
        raised, result = None, None
        try:
            result = self.functions[which](value)
        except KINDS as error:
            raised = type(error), error.args
        if value < 0:
            assert raised == (KINDS[int(-value) % len(KINDS)], (value,)), (value, raised)
            return
        assert raised is None, (value, raised)
        found = np.asarray(jax.tree.leaves(result)[0]).reshape(-1)[0]
        assert np.isclose(found, self.right[which](value)), (which, value, found)


@scenario("exceptions in callbacks", 40_000)
def in_this_thread(calls: int) -> Steps:
    failing = Failing()
    for number in range(calls):
        failing.check(number)
        yield number + 1


@scenario("exceptions in callbacks of 8 threads", 40_000, least=80, slack=OF_THREADS)
def in_threads(calls: int) -> Steps:
    failing = Failing()

    def work(thread: int, each: int) -> Callable[[], None]:
        return lambda: [failing.check(thread * 5 + k) for k in range(each)] and None

    yield from rounds(calls, work)


@scenario("errors of programs", 40_000)
def of_programs(calls: int) -> Steps:
    """Wires that are not there, sizes below zero: the call is left with states and arrays alive."""

    @qjit
    @qml.qnode(device(10))
    def wire(k):
        qml.Hadamard(0)
        qml.X(k)
        return qml.expval(qml.Z(1)), qml.probs()

    size = qjit(lambda n: jnp.concatenate([jnp.ones(9000), jnp.ones(n - 3)]).sum())
    for number in range(calls):
        k = number % 2
        assert np.isclose(float(wire(1 + k)[0]), 2 * k - 1)
        assert float(size(3 + k)) == 9000 + k
        for function, wrong in ((wire, 10 + k), (size, k)):
            try:
                function(wrong)
            except DiastaseError:
                continue
            raise AssertionError(f"no error for {wrong}")
        yield number + 1
