"""`debug.callback` and `debug.print`: in programs, in their derivatives and batches, in Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import debug, for_loop, grad, qjit, vmap


def said(capsys) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_print_in_a_program_and_in_python_says_the_same(capsys):
    def show(x, table):
        debug.print("{}, {x:.2f}", table["a"], x=x)
        debug.print(x)
        debug.print([1], x)
        debug.print("{{}} {} {}", "text", True)

    arguments = jnp.asarray(2.0), {"a": jnp.arange(2)}
    qjit(show)(*arguments)
    compiled = said(capsys)
    show(*arguments)
    assert said(capsys) == [line.replace("Array(1, dtype=int64)", "1") for line in compiled]
    assert compiled == ["[0 1], 2.00", "2.0", "[Array(1, dtype=int64)] 2.0", "{} text True"]


def test_print_in_a_circuit_its_loops_and_branches_with_a_size_known_at_run_time(capsys):
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(n):
        @for_loop(0, n, 1)
        def loop(i):
            qml.RX(0.1, wires=0)
            jax.lax.cond(i % 2 == 0, lambda: debug.print("{}: {}", i, jnp.ones(n)), lambda: None)

        loop()
        return qml.expval(qml.Z(0))

    assert np.allclose(qjit(circuit)(3), np.cos(0.3))
    assert said(capsys) == ["0: [1. 1. 1.]", "2: [1. 1. 1.]"]


def test_callbacks_run_once_in_gradients_and_for_each_element_of_a_batch(capsys):
    def f(x):
        debug.print("x = {}", x)
        return x**2

    assert float(qjit(grad(f))(2.0)) == 4.0
    assert float(jax.jit(jax.grad(qjit(f)))(3.0)) == 6.0
    assert float(jax.grad(f)(4.0)) == 8.0
    assert said(capsys) == ["x = 2.0", "x = 3.0", "x = 4.0"]
    qjit(vmap(f))(jnp.arange(3.0))
    assert said(capsys) == ["x = 0.0", "x = 1.0", "x = 2.0"]


def test_callback_gets_arrays_and_its_exceptions_come_out(capsys):
    @debug.callback
    def refuse(x, *, ordered):
        raise KeyError(type(x).__name__, float(ordered))

    @qjit
    def f(x: float):
        refuse(x, ordered=x)
        debug.print("not reached")
        return x

    with pytest.raises(KeyError, match=r"'ArrayImpl', 1\.5"):
        f(1.5)
    with pytest.raises(KeyError, match=r"'float', 1\.5"):
        refuse(1.5, ordered=1.5)
    assert said(capsys) == []


def test_debug_shows_its_own_names():
    assert set(dir(debug)) == set(debug.__all__)
    assert all(callable(getattr(debug, name)) for name in debug.__all__)
