"""Eight threads that call at once: one function, different ones, what others compile or delete."""

import gc
import itertools
import random
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import qjit
from soak.compilations import KINDS, OF_COMPILERS
from soak.programs import FAMILIES, Call, device, everything
from soak.scenarios import OF_ARENAS, OF_THREADS, Steps, scenario

THREADS = 8
ROUNDS = 10
EACH = 10_000


@contextmanager
def at_once(*works: Callable[[], None]) -> Generator[None]:
    """Run each in a thread of its own, until the end; raise what one of them raised."""
    errors: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


@contextmanager
def meanwhile(work: Callable[[], None]) -> Generator[None]:
    """Do some work again and again in another thread, at least once, until the end."""
    over = threading.Event()

    def run() -> None:
        work()
        while not over.is_set():
            work()

    with at_once(run):
        try:
            yield
        finally:
            over.set()


def calling(calls: Sequence[Call], times: int, seed: int) -> Callable[[], None]:
    """Make so many calls, in an order of its own."""
    chosen = random.Random(seed).choices(range(len(calls)), k=times)
    return lambda: [calls[number].check() for number in chosen] and None


def rounds(calls: int, work: Callable[[int, int], Callable[[], None]]) -> Steps:
    """Let all threads run, again and again; `work(thread, calls)` makes what one does."""
    each = max(1, calls // (THREADS * ROUNDS))
    made = 0
    while made < calls:
        with at_once(*(work(thread, each) for thread in range(THREADS))):
            pass
        made += each * THREADS
        yield made


def large_circuit() -> Call:
    """With a state that the thread pool works on."""

    @qjit
    @qml.qnode(device(13))
    def circuit(angle):
        for wire in range(13):
            qml.RX(angle, wire)
        return qml.expval(qml.Z(0) @ qml.Z(12))

    return Call(circuit, (0.4,), np.cos(0.4) ** 2)


@scenario("8 threads, one function", THREADS * EACH, least=80)
def one_function(calls: int) -> Steps:
    """Compiled by all at once, at first."""
    of_family = FAMILIES["circuits"]()[:8]
    for call in of_family:
        call.function.clear_cache()
    yield from rounds(calls, lambda thread, each: calling(of_family, each, thread))


@scenario(
    "8 threads, different functions", THREADS * EACH, least=80, slack=OF_ARENAS, compiles=True
)
def different_functions(calls: int) -> Steps:
    families = [make() for make in FAMILIES.values()]
    families[0] = [*families[0], large_circuit()]
    assert len(families) == THREADS
    yield from rounds(calls, lambda thread, each: calling(families[thread], each, thread))


@scenario(
    "8 threads, all functions, while others are compiled",
    THREADS * EACH,
    least=80,
    slack=OF_THREADS,
)
def while_compiling(calls: int) -> Steps:
    all_calls, constants = everything(), itertools.count()

    def compile_one() -> None:
        number = next(constants)
        KINDS[number % len(KINDS)](3 + number * 1e-3).check()

    steps = rounds(calls, lambda thread, each: calling(all_calls, each, thread))
    while True:
        with meanwhile(compile_one):
            made = next(steps, None)
        if made is None:
            return
        yield made


# --- objects that go while they run ---------------------------------------------------------------


class Shared:
    """A function that all threads call, and that each may replace, clear or collect at any time."""

    def __init__(self) -> None:
        self.function = self.made()

    @staticmethod
    def made() -> Callable:
        return qjit(lambda x: (jnp.sin(x) * 2, x[::-1] + 1, (x * x).sum()))

    def use(self, chance: random.Random) -> None:
        if chance.random() < 0.01:
            self.function = self.made()
        if chance.random() < 0.01:
            self.function.clear_cache()
        if chance.random() < 0.001:
            gc.collect()


@scenario("8 threads, objects deleted while they run", THREADS * EACH // 4, least=80)
def deletions(calls: int) -> Steps:
    """Functions, programs, and results, of which views stay."""
    shared = Shared()
    lengths = (4, 7000)  # copied, and memory that the array owns

    def work(thread: int, each: int) -> Callable[[], None]:
        chance = random.Random(thread)

        def run() -> None:
            views: list[tuple[np.ndarray, np.ndarray]] = []
            for _ in range(each):
                x = np.full(chance.choice(lengths), chance.random())
                sine, _, square = shared.function(x)
                assert np.isclose(float(square), (x * x).sum())
                shared.use(chance)
                views.append((np.asarray(sine)[1:], np.sin(x[1:]) * 2))
                del sine
                if len(views) > 20:
                    view, right = views.pop(chance.randrange(len(views)))
                    np.testing.assert_allclose(view, right, rtol=1e-12)

        return run

    yield from rounds(calls, work)


@scenario(
    "functions that are deleted by their own callbacks",
    500,
    least=10,
    slack=OF_COMPILERS,
    compiles=True,
)
def deleted_by_itself(calls: int) -> Steps:
    kept: list[Callable] = []
    numbers = itertools.count()

    def forget(x: jax.Array) -> np.ndarray:
        kept.clear()
        if next(numbers) % 16 == 0:
            gc.collect()
        return np.asarray(x) + 1

    def program(x):
        shape = jax.ShapeDtypeStruct((4,), float)
        return jax.pure_callback(forget, shape, jax.pure_callback(forget, shape, x) * 2) * 3

    x = np.arange(4.0)
    for number in range(calls):
        kept.append(qjit(program))
        np.testing.assert_array_equal(kept[0](x), ((x + 1) * 2 + 1) * 3)
        assert not kept
        yield number + 1
