"""`diastase.profile()`: what it counts, whose time is whose, and that nothing is left of it."""

import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import QJIT, profile, qjit
from diastase.jit.options.errors import NestedProfileError


@qjit
def double(x):
    return x * 2


@qjit
def slow(x):
    def sleep(y):
        time.sleep(0.02)
        return np.asarray(double(float(y)))

    return jax.pure_callback(sleep, jax.ShapeDtypeStruct((), np.float64), x) + 1


@qjit
@qml.qnode(qml.device("lightning.qubit", wires=2))
def circuit(angle):
    qml.RX(angle, wires=0)
    qml.RX(angle, wires=0)
    qml.CNOT(wires=[0, 1])
    return qml.expval(qml.Z(1))


def shares(program):
    return program.python, program.compiled, program.callbacks, program.compiling


def test_calls_and_their_time():
    double(1.0)
    with profile() as measured:
        for _ in range(5):
            assert double(1.5) == 3
    program = measured.programs["double"]
    assert (program.calls, program.compiling, program.callbacks, program.gates) == (5, 0, 0, 0)
    assert 0 < program.compiled < program.total < measured.seconds
    assert sum(shares(program)) == pytest.approx(program.total)


def test_a_call_that_compiles_is_told_apart():
    @qjit
    def fresh(x):
        return x * 3.25

    with profile() as measured:
        fresh(1.0)
        compiling = measured.programs["fresh"].compiling
        fresh(2.0)
    program = measured.programs["fresh"]
    assert program.calls == 2
    assert program.compiling == compiling > program.python > 0


def test_time_of_callbacks_and_of_calls_within_them():
    slow(1.0)
    double(1.0)
    with profile() as measured:
        assert slow(1.5) == 4
    outer, inner = measured.programs["slow"], measured.programs["double"]
    assert (outer.calls, inner.calls) == (1, 1)
    assert outer.callbacks >= 0.02 > outer.compiled > 0
    assert min(shares(outer)) >= 0
    assert inner.callbacks == 0
    assert inner.total < outer.callbacks


def test_work_of_the_engine():
    circuit(0.1)
    with profile() as measured:
        for _ in range(3):
            circuit(0.2)
    program = measured.programs["circuit"]
    assert program.gates == 9
    assert 3 <= program.operations < 9
    assert program.stages >= 3


def test_programs_compiled_ahead_and_inlined_ones():
    compiled = double.trace(1.0).compile()
    outer = qjit(lambda x: double(x) + 1)
    with profile() as measured:
        compiled(2.0)
        outer(2.0)
    assert measured.programs["double"].calls == 1
    assert measured.programs["<lambda>"].calls == 1


def test_failures_are_counted_and_raised():
    def fail(x):
        raise ValueError("no")

    failing = qjit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct((), np.float64), x))
    with profile() as measured:
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                failing(1.0)
    assert measured.programs["<lambda>"].calls == 2
    with profile() as again:
        double(1.0)
    assert list(again.programs) == ["double"]


def test_calls_of_all_threads():
    double(1.0)
    with profile() as measured:
        threads = [threading.Thread(target=double, args=(1.0,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert measured.programs["double"].calls == 4


def test_nothing_is_left_afterwards():
    plain = QJIT.__call__
    entry = double.trace(1.0).compile().runtime_executable().executable
    native = entry._entry
    with profile() as measured:
        assert QJIT.__call__ is not plain
        assert entry._entry is not native
        with pytest.raises(NestedProfileError), profile():
            pass
    assert QJIT.__call__ is plain
    assert entry._entry is native
    double(1.0)
    assert measured.programs == {}
    with pytest.raises(KeyError), profile():
        raise KeyError
    assert QJIT.__call__ is plain


def test_the_table():
    circuit(0.1)
    with profile() as measured:
        circuit(0.2)
        double(1.0)
    header, *rows, last = str(measured).splitlines()
    assert header.split() == (
        "function calls total each Python compiled callbacks compiling "
        "gates -> operations -> walks".split()
    )
    assert {row.split()[0]: row.split()[1] for row in rows} == {"circuit": "1", "double": "1"}
    assert "3 -> " in next(row for row in rows if row.startswith("circuit"))
    assert last.startswith("the whole block took ")
    with profile() as nothing:
        pass
    assert "no compiled function was called" in str(nothing)


def test_calls_by_xla_are_seen_where_they_are_made():
    compiled = qjit(lambda x: (x * x).sum())
    step = jax.jit(jax.value_and_grad(compiled))
    x = jnp.arange(3.0)
    before = step(x)
    with profile() as seen:
        for _ in range(4):
            jax.block_until_ready(step(x))
    program = seen.programs["<lambda>"]
    assert program.calls >= 4
    assert 0 < program.compiled <= program.total
    assert program.compiling == 0
    for found, expected in zip(step(x), before, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert program.calls == seen.programs["<lambda>"].calls  # nobody looks any more
