"""Sizes whose bytes 64 bits cannot count: an error of ours before anything is allocated."""

import jax
import jax.numpy as jnp
import pennylane as qml
import pytest

from diastase import DiastaseError, qjit
from diastase.capture.quantum_errors import InvalidSettingError
from diastase_mlir.errors import FailedPassError
from diastase_runtime.errors import (
    InvalidShotsError,
    NegativeQubitsError,
    NegativeSizeError,
    OutOfMemoryError,
    TooManyQubitsError,
    WireOutOfRangeError,
)

HUGE = 2**62


@pytest.mark.parametrize(
    "function",
    [
        lambda: jnp.zeros(2**63),
        lambda: jnp.zeros((3, 2**70)).sum(),
        lambda: jax.lax.pad(jnp.ones(3), 0.0, [(HUGE, HUGE, 0)]),
    ],
)
def test_a_size_of_more_than_64_bits(function):
    with pytest.raises(OutOfMemoryError):
        qjit(function)()


def test_a_size_of_more_than_64_bits_beside_one_of_run_time():
    with pytest.raises(OutOfMemoryError):
        qjit(lambda n: jnp.zeros((n, 2**63)).sum())(3)


def test_known_sizes_whose_product_is_too_large():
    with pytest.raises(FailedPassError, match="more than 2\\^62 bytes"):
        qjit(lambda: jnp.zeros((2**40, 2**40)).sum())()


@pytest.mark.parametrize(
    "function",
    [
        lambda n: jnp.pad(jnp.ones(3), (n, n)),
        lambda n: jnp.pad(jnp.ones(3), (n, n)).sum(),
        lambda n: jnp.pad(jnp.ones(3), (n, n), mode="wrap"),
        lambda n: jnp.zeros((n, n, n)),
        lambda n: jnp.concatenate([jnp.zeros(n)] * 4),
    ],
)
def test_a_size_of_run_time_that_would_wrap_around(function):
    with pytest.raises(OutOfMemoryError):
        qjit(function)(HUGE)


def test_elements_set_apart_too_far():
    """Four gaps of 2^62 are 2^64, which is 0."""
    apart = qjit(lambda n: jax.lax.pad(jnp.ones(n), 0.0, [(0, 0, HUGE)]).sum())
    assert apart(1) == 1.0
    with pytest.raises(OutOfMemoryError):
        apart(5)


@pytest.mark.parametrize("size", [-1, -(2**63)])
def test_negative_sizes(size):
    with pytest.raises(NegativeSizeError):
        qjit(lambda n: jnp.zeros(n))(size)


def circuit(wires, shots=None, measure=lambda: qml.expval(qml.Z(0)), wire=0):
    @qml.set_shots(shots)
    @qml.qnode(qml.device("lightning.qubit", wires=wires))
    def measured():
        qml.Hadamard(wire)
        return measure()

    return measured()


@pytest.mark.parametrize("wires", [63, 64, 100, 1000])
@pytest.mark.parametrize("measure", [qml.probs, qml.state])
def test_registers_that_no_memory_holds(wires, measure):
    with pytest.raises(TooManyQubitsError):
        qjit(lambda: circuit(wires, measure=measure))()


def test_registers_of_run_time():
    traced = qjit(lambda n: circuit(n))
    for wires in (64, 1000, HUGE):
        with pytest.raises(TooManyQubitsError):
            traced(wires)
    with pytest.raises(NegativeQubitsError):
        traced(-(2**63))


def test_wires_out_of_range():
    traced = qjit(lambda w: circuit(2, wire=w))
    for wire in (2**32, -(2**63), 2**63 - 1):
        with pytest.raises(WireOutOfRangeError):
            traced(wire)


def test_shots():
    with pytest.raises(InvalidSettingError, match="64 bits"):
        qjit(lambda: circuit(2, 2**64 + 1, qml.counts))()
    traced = qjit(lambda s: circuit(2, s, qml.sample))
    with pytest.raises(OutOfMemoryError):
        traced(2**63 - 1)
    for shots in (0, -1, -(2**63)):
        with pytest.raises(InvalidShotsError):
            traced(shots)


def test_an_argument_of_more_than_64_bits():
    """As in JAX."""
    with pytest.raises(OverflowError) as caught:
        qjit(lambda n: n + 1)(2**63)
    assert not isinstance(caught.value, DiastaseError)


def test_sums_of_the_users_own_wrap_around():
    """Four times 2^62 is 0, as integers of 64 bits are added."""
    assert qjit(lambda a, b, c, d: jnp.zeros(a + b + c + d))(*[HUGE] * 4).shape == (0,)
