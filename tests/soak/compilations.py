"""Ten thousand compilations of distinct programs, of which the last few are kept.

What JAX, MLIR and LLVM keep of programs that are gone is theirs. So there are controls: the same
functions by `jax.jit`, and only traced by JAX. Each trace of ours has JAX's settings of its own, by
which JAX keeps some 5 kB of it, until its caches are full: they are emptied where memory is read.
"""

import os
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import inf

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

import diastase
from diastase import qjit
from soak.programs import Call, device
from soak.scenarios import Steps, scenario

ALIVE = 5
"""Functions that are kept: as many kinds as there are."""


def classical(constant: float) -> Call:
    x = np.linspace(0, 1, 8)
    function = qjit(lambda x: jnp.sin(x) * constant + x.sum())
    return Call(function, (x,), np.sin(x) * constant + x.sum())


def circuit(constant: float) -> Call:
    @qml.qnode(device(2))
    def rotated(angle):
        qml.RX(angle * constant, 0)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(1))

    return Call(qjit(rotated), (0.3,), np.cos(0.3 * constant))


def derivative(constant: float) -> Call:
    @qml.qnode(device(1))
    def rotated(angle):
        qml.RX(angle * constant, 0)
        return qml.expval(qml.Z(0))

    right = -constant * np.sin(0.3 * constant)
    return Call(qjit(diastase.grad(rotated)), (0.3,), right)


def callback(constant: float) -> Call:
    shape = jax.ShapeDtypeStruct((), float)
    function = qjit(lambda x: jax.pure_callback(np.sqrt, shape, x) * constant)
    return Call(function, (4.0,), np.float64(2 * constant))


def size(constant: float) -> Call:
    return Call(qjit(lambda n: jnp.full(n, constant)), (3,), np.full(3, constant))


OF_COMPILERS = 32 << 20
"""Bytes that JAX, MLIR and LLVM may keep of all programs together."""

KINDS: tuple[Callable[[float], Call], ...] = (classical, circuit, derivative, callback, size)


def distinct(calls: int, kinds: tuple[Callable[[float], Call], ...] = KINDS) -> Steps:
    """Compile ever new programs, and call each."""
    alive: deque[Call] = deque(maxlen=ALIVE)
    for number in range(calls):
        call = kinds[number % len(kinds)](1 + number * 1e-3)
        call.check()
        alive.append(call)
        for older in alive:
            older.check()
        yield number + 1


@scenario("compilations", 10_000, least=5, slack=OF_COMPILERS, compiles=True)
def compilations(calls: int) -> Steps:
    yield from distinct(calls)


@contextmanager
def setting(name: str, value: str) -> Generator[None]:
    """Set an environment variable."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@scenario("compilations without a disk cache", 1000, least=5, slack=OF_COMPILERS, compiles=True)
def uncached(calls: int) -> Steps:
    with setting("DIASTASE_CACHE", "0"):
        yield from distinct(calls)


@scenario("the same program from the cache", 2000, least=5, slack=OF_COMPILERS, compiles=True)
def found_again(calls: int) -> Steps:
    """Traced, lowered, found, loaded, and unloaded again."""
    for number in range(calls):
        KINDS[number % len(KINDS)](1.5).check()
        yield number + 1


def by_jax(constant: float) -> Call:
    x = np.linspace(0, 1, 8)
    function = jax.jit(lambda x: jnp.sin(x) * constant + x.sum())
    return Call(function, (x,), np.sin(x) * constant + x.sum())


def traced_by_jax(constant: float) -> Call:
    def traced(x):
        jax.make_jaxpr(lambda x: jnp.sin(x) * constant + x.sum())(x)
        return x

    return Call(traced, (np.ones(8),), np.ones(8))


@scenario("control: compilations by jax.jit", 2000, least=5, slack=inf, compiles=True)
def control(calls: int) -> Steps:
    yield from distinct(calls, (by_jax,))


@scenario("control: traces by JAX", 2000, least=5, slack=inf, compiles=True)
def traces(calls: int) -> Steps:
    yield from distinct(calls, (traced_by_jax,))
