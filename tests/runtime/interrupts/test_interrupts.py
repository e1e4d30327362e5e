"""A handler of signals that raises while compiled code runs: its exception comes out, at once.

The signal is an alarm's, so that pytest's own handler of Ctrl-C stays where it is. Every program
here would run for minutes, or for ever.
"""

import faulthandler
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, qjit, vmap, while_loop
from diastase_toolchain.background import in_background

MANY = 10**13


class Alarm(Exception):
    """What the handler raises."""


@contextmanager
def alarm_soon(raised: BaseException | None = None, seconds: float = 0.05) -> Generator[list[int]]:
    calls: list[int] = []

    def handle(number, _frame):
        calls.append(number)
        if raised is not None:
            raise raised

    before = signal.signal(signal.SIGALRM, handle)
    # JAX has Python call a function after each collection of garbage; what a handler raises that
    # has waited for the end of one is raised in there, where Python drops it.
    gc.disable()
    faulthandler.dump_traceback_later(120, exit=True)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield calls
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()


def is_left(function: Callable, *arguments) -> None:
    """The call ends with the handler's exception; the next call of the same program works."""
    with alarm_soon(error := Alarm()), pytest.raises(Alarm) as caught:
        function(*arguments)
    assert caught.value is error


@qml.qnode(qml.device("lightning.qubit", wires=3))
def circuit(x, n):
    @for_loop(0, n, 1)
    def loop(i):
        qml.RX(x, wires=0)
        qml.CNOT([0, 1])

    loop()
    return qml.expval(qml.Z(0))


def counted(x, n):
    return for_loop(0, n, 1)(lambda _, s: s * 1.5)(x)


def conditional(x, n):
    return while_loop(lambda i, _: i < n)(lambda i, s: (i + 1, s * 1.5))(0, x)[1]


def of_jax(x, n):
    return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5), (0, x))[1]


def nested(x, n):
    inner = for_loop(0, n, 1)(lambda _, s: s + counted(x, 3))
    return for_loop(0, n, 1)(lambda _, s: inner(s))(x)


def of_arrays(x, n):
    array = for_loop(0, n, 1)(lambda i, s: jnp.sin(s) + i)(jnp.full(200_000, x))
    return array.sum()


def with_callbacks(x, n):
    shape = jax.ShapeDtypeStruct((), float)
    return for_loop(0, n, 1)(lambda _, s: jax.pure_callback(lambda y: np.asarray(y), shape, s))(x)


@pytest.mark.sample(3)
def of_spectra(x, n):
    return for_loop(0, n, 1)(lambda _, v: jnp.fft.fft(v) / 4)(x * np.arange(16) + 0j)


@pytest.mark.parametrize(
    "program",
    [counted, conditional, of_jax, nested, of_arrays, of_spectra, with_callbacks, circuit],
    ids=lambda program: getattr(program, "__name__", "circuit"),
)
def test_a_loop_is_left_and_the_program_works_afterwards(program):
    compiled = qjit(program)
    right = compiled(1.0, 2)
    is_left(compiled, 1.0, MANY)
    assert np.allclose(compiled(1.0, 2), right)


def test_a_signal_that_comes_right_before_a_callback_is_raised_where_that_begins():
    large = jax.ShapeDtypeStruct((1000, 1000), float)

    @qjit
    def program(matrix: large):
        jax.debug.callback(lambda: signal.setitimer(signal.ITIMER_REAL, 0.005), ordered=True)
        product = matrix @ matrix  # no poll in here
        jax.debug.callback(lambda x: ended.append(x), product[0, 0], ordered=True)
        return product

    ended = []
    with alarm_soon(seconds=60):
        program(matrix := jnp.eye(1000))
    assert ended == [1]
    with alarm_soon(error := Alarm(), seconds=60), pytest.raises(Alarm) as caught:
        program(matrix)
    assert caught.value is error
    assert ended == [1]
    assert "python.py" in str(caught.traceback[-2].path)


def test_a_loop_of_a_known_few_slow_turns_is_left_between_them():
    large = jax.ShapeDtypeStruct((500, 500), float)

    @qjit
    def program(matrix: large):
        return for_loop(0, 4096, 1)(lambda _, s: jnp.linalg.solve(matrix, s))(jnp.ones(500))

    is_left(program, jnp.eye(500))


def test_elements_of_a_batch_are_left_on_all_threads():
    compiled = qjit(vmap(circuit, in_axes=(0, None)))
    right = compiled(jnp.arange(8.0), 3)
    is_left(compiled, jnp.arange(8.0), MANY)
    assert np.allclose(compiled(jnp.arange(8.0), 3), right)


def test_elements_are_left_also_while_the_call_waits_for_one_before_an_error():
    """Of two threads one has the second element, the other has seen the third fail."""

    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def on_wire(wire, n):
        @for_loop(0, n, 1)
        def loop(i):
            qml.RX(0.1, wires=wire)

        loop()
        return qml.expval(qml.Z(0))

    compiled = qjit(vmap(on_wire))
    compiled(jnp.array([0, 0, 0]), jnp.array([1, 1, 1]))
    is_left(compiled, jnp.array([0, 0, 9]), jnp.array([10**6, MANY, 1]))
    with pytest.raises(IndexError):
        compiled(jnp.array([0, 0, 9]), jnp.array([1, 1, 1]))


def test_qnodes_that_run_at_once_are_left():
    compiled = qjit(lambda x, n: circuit(x, n) + circuit(2 * x, n), async_qnodes=True)
    right = compiled(0.1, 3)
    is_left(compiled, 0.1, MANY)
    assert compiled(0.1, 3) == right


def test_large_states_are_left_between_stages():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=20))
    def large(x, n):
        @for_loop(0, n, 1)
        def loop(i):
            for wire in range(20):
                qml.RX(x, wires=wire)
                qml.CRY(x, wires=[wire, (wire + 7) % 20])

        loop()
        return qml.expval(qml.Z(0))

    large(0.1, 1)
    is_left(large, 0.1, MANY)
    assert np.allclose(large(0.0, 1), 1)


def test_a_handler_that_does_not_raise_is_called_and_the_program_goes_on():
    compiled = qjit(conditional)
    right = compiled(1.0, 10**8)
    with alarm_soon() as calls:
        while not calls:
            assert compiled(1.0, 10**8) == right


def test_other_threads_are_not_interrupted():
    compiled, results = qjit(conditional), []
    right = compiled(1.0, 10**8)
    threads = [
        threading.Thread(target=lambda: results.append(compiled(1.0, 10**8))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    is_left(compiled, 1.0, MANY)
    for thread in threads:
        thread.join()
    assert results == [right, right]


def test_work_in_the_background_is_left_and_its_errors_are_raised():
    release = threading.Event()
    is_left(in_background, release.wait)
    release.set()
    with pytest.raises(ZeroDivisionError):
        in_background(lambda: 1 // 0)


CTRL_C = """
import os, signal, threading
import jax
from diastase import qjit, while_loop

# What is started in the background by a shell ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)

@qjit
def f(x):
    return while_loop(lambda i, _: i < 10**13)(lambda i, s: (i + 1, s * 1.5))(0, x)[1]

for called in f, jax.jit(lambda x: f(x) + 1):
    called.lower(1.0).compile()
    for _ in range(2):
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            called(1.0)
        except KeyboardInterrupt:
            print("left")
"""


CTRL_C_WHILE_COMPILING = """
import os, signal, sys, threading
import jax.numpy as jnp
from diastase import qjit

signal.signal(signal.SIGINT, signal.default_int_handler)

def f(x):
    for axis in range(30):
        x = jnp.sin(x) @ x + jnp.cumsum(x, axis=axis % 2) + jnp.sort(x, axis=0)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    return x

try:
    qjit(f)(jnp.ones((5, 5)))
except KeyboardInterrupt:
    sys.exit(3)
"""


@pytest.mark.thorough
def test_a_process_ends_with_its_status_while_an_abandoned_compilation_goes_on(tmp_path):
    environment = {**os.environ, "DIASTASE_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", CTRL_C_WHILE_COMPILING]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (ran.stderr, ran.returncode) == ("", 3)


@pytest.mark.thorough
def test_ctrl_c_is_a_keyboard_interrupt_also_where_xla_calls_the_program():
    command = [sys.executable, "-c", CTRL_C]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (ran.stdout, ran.returncode) == ("left\n" * 4, 0), ran.stderr


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None])
def test_results_that_xla_has_of_a_program_that_was_left_are_never_seen(handler):
    """Where Python does not raise on Ctrl-C, XLA must, or it has zeros that nobody computed."""

    def interrupt(x):
        raise KeyboardInterrupt

    shape = jax.ShapeDtypeStruct((), float)
    program = jax.jit(qjit(lambda x: jax.pure_callback(interrupt, shape, x)))
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(jax.errors.JaxRuntimeError, match="KeyboardInterrupt"):
            jax.block_until_ready(program(1.0))
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("endless", [0, 199_999])
def test_an_endless_loop_of_one_element_is_left(endless):
    """On whichever thread it runs."""

    def of_each(x, endless):
        def one(a, place):
            def goes_on(s):
                return (s > 0.5) | (place == endless)

            return jax.lax.while_loop(goes_on, lambda s: s * 0.5, a)

        return jax.vmap(one)(jnp.full(200_000, x), jnp.arange(200_000))

    compiled = qjit(of_each)
    assert (compiled(8.0, -1) == 0.5).all()
    is_left(compiled, 8.0, endless)
    assert (compiled(8.0, -1) == 0.5).all()
