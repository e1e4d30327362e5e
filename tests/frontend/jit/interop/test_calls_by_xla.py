"""How XLA calls compiled programs: without Python; draws, errors, threads, what stays alive."""

import ctypes
import gc
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit
from diastase.jit.interop import xla
from diastase_engine import xla_ffi
from diastase_engine.language.types import size_of
from diastase_runtime.calls import xla_plans
from diastase_runtime.errors import WireOutOfRangeError

FAILURES = (jax.errors.JaxRuntimeError, ValueError)
"""What XLA raises for what is found wrong at once, and for what is found later."""


def sampled(shots=500, **options):
    @qjit(**options)
    @qml.qnode(qml.device("default.qubit", wires=2), shots=shots)
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    return circuit


@qjit
@qml.qnode(qml.device("default.qubit", wires=2))
def on_wire(wire, x):
    qml.RX(x, wires=wire)
    return qml.expval(qml.Z(0))


def test_one_call_and_no_python():
    f = qjit(lambda x: (jnp.sin(x), x > 1))
    text = jax.jit(jax.vmap(jax.value_and_grad(lambda x: f(x)[0]))).lower(jnp.ones(3)).as_text()
    calls = [line for line in text.splitlines() if "custom_call" in line]
    assert all('"diastase_program"' in line or "@diastase_program" in line for line in calls)
    assert len(calls) == 1  # for the value and its gradient
    assert "callback" not in text


def test_equal_calls_are_one_program():
    f = qjit(lambda x: x * 2.0)
    equations = [
        equation
        for _ in range(2)
        for equation in jax.make_jaxpr(lambda x: jax.jacfwd(f)(f(x)))(1.5).jaxpr.eqns
        if equation.primitive.name == "program"
    ]
    programs = {equation.params["program"] for equation in equations}
    assert len(equations) == 6
    assert len(programs) <= 3  # f, its derivative, and that one for a batch


def test_the_records_are_those_of_the_handler():
    assert size_of(xla_ffi.Plan) == ctypes.sizeof(xla_plans.Plan)
    names = [field for field, _ in xla_plans.Plan._fields_]
    assert names == list(xla_ffi.Plan.__annotations__)


@pytest.mark.thorough
def test_draws_differ_from_call_to_call():
    circuit = sampled()
    jitted = jax.jit(lambda x: (circuit(x), circuit(x)))
    assert len({float(value) for _ in range(5) for value in jitted(1.5)}) > 2
    loops = jax.jit(lambda x: jax.lax.scan(lambda c, _: (c, circuit(x)), 0, None, length=9)[1])
    assert len(set(loops(1.5).tolist())) > 2
    constant = jax.jit(lambda: jax.lax.scan(lambda c, _: (c, circuit(1.5)), 0, None, length=9)[1])
    assert len(set(constant().tolist())) > 2
    assert len(set(constant().tolist()) - set(constant().tolist())) > 0
    assert len(set(jax.vmap(circuit)(jnp.full(9, 1.5)).tolist())) > 2


@pytest.mark.parametrize("kind", ["plain", "promoted", "guarded"])
def test_known_arguments_are_drawn_for_in_every_call(kind):
    """Whatever stands between the call and its program, a transformation makes an equation."""

    def function(x):
        if x.ndim:  # a program that holds for some sizes only
            return circuit(x[0] if x.shape[0] >= 3 else x.sum())
        return circuit(x * 1.0)

    circuit = sampled().original_function
    options = {"abstracted_axes": ("n",)} if kind == "guarded" else {}
    compiled = qjit(function, **options)
    compiled(jnp.full(4, 1.5) if kind == "guarded" else 1.5)
    known = {"plain": 1.5, "promoted": 2, "guarded": jnp.full(4, 1.5)}[kind]
    compiled(known)
    constant = jax.jit(lambda: compiled(known))
    assert len({float(constant()) for _ in range(9)}) > 1


def test_the_seed_of_a_function():
    circuit = sampled(seed=3)
    assert len({float(jax.jit(circuit)(1.5)), float(circuit(1.5)), float(circuit(1.5))}) == 1


def test_errors_name_the_users_line():
    message = r"wire 5 of a device with 2 wires[\s\S]*test_calls_by_xla.py[\s\S]*qml.RX\(x, wires"
    for function in (on_wire, jax.grad(on_wire, 1)):
        with pytest.raises(jax.errors.JaxRuntimeError, match=message):
            jax.jit(function)(5, 0.1)
        assert np.isfinite(jax.jit(function)(0, 0.1))
    with pytest.raises(WireOutOfRangeError, match=message):  # not through XLA: an error of ours
        jax.grad(on_wire, 1)(5, 0.1)


def test_sizes_that_xla_does_not_know():
    positive = qjit(lambda x: x[x > 0])
    with pytest.raises(TypeError, match=r"positive|lambda.*only when it has run"):
        jax.jit(positive)(jnp.arange(3.0))


def test_assumptions_about_sizes_are_checked():
    f = qjit(lambda x, n: x[:2] * jnp.ones(n)[:2])
    np.testing.assert_array_equal(jax.jit(f)(jnp.arange(3.0), 3), [0.0, 1.0])


def test_host_callbacks():
    def boom(_):
        raise ValueError("of the user")

    shape = jax.ShapeDtypeStruct((3,), np.float64)
    sine = qjit(lambda x: 2 * jax.pure_callback(np.sin, shape, x))
    np.testing.assert_allclose(jax.jit(sine)(jnp.arange(3.0)), 2 * np.sin(np.arange(3.0)))
    with pytest.raises(jax.errors.JaxRuntimeError, match="ValueError: of the user"):
        jax.jit(qjit(lambda x: jax.pure_callback(boom, shape, x)))(jnp.arange(3.0))


def test_many_threads():
    f = jax.jit(jax.value_and_grad(on_wire, 1))
    expected = [np.array(f(0, 0.1 * number)) for number in range(16)]
    wrong = []

    def work(offset):
        for number in range(200):
            number = (number + offset) % 16
            try:
                if number % 5 == 4:
                    with pytest.raises(FAILURES, match="wire 7"):
                        jax.block_until_ready(f(7, 0.1))
                elif not np.array_equal(f(0, 0.1 * number), expected[number]):
                    wrong.append(number)
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


SUBNORMAL = """
import jax, jax.numpy as jnp, numpy as np
from diastase import qjit

f, x = qjit(jnp.exp), np.full(200_000, -708.43)
for function in (jax.jit(f), f):  # the first call makes the threads that both run on
    assert np.asarray(function(x)).all()
assert not np.asarray(jax.jit(jnp.exp)(x)).any(), "XLA keeps them by now: say so in the docs"
"""


def test_subnormal_numbers_are_kept_there_and_afterwards():
    """XLA flushes them to zero in the thread that calls, from which our own threads had it."""
    subprocess.run([sys.executable, "-c", SUBNORMAL], check=True, timeout=120)


def test_programs_outlive_their_functions():
    def made():
        return jax.jit(qjit(lambda x: jnp.cumsum(jnp.sin(x))))

    f = made()
    x = jnp.arange(100_000.0)
    expected = f(x)
    gc.collect()
    np.testing.assert_array_equal(f(x), expected)
    results = [made()(x) for _ in range(5)]
    gc.collect()
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_a_call_of_another_process_is_refused():
    """As if XLA's compilation had come from a disk cache."""
    xla._handler()
    call = jax.ffi.ffi_call("diastase_program", jax.ShapeDtypeStruct((), np.float64))
    with pytest.raises(jax.errors.JaxRuntimeError, match="compiled by another process"):
        jax.jit(lambda x: call(x, plan=np.array([0, 1], np.int64)))(1.0)


def test_inside_of_our_own_programs():
    f = qjit(lambda x: jnp.exp(x) * x)
    jaxpr = jax.make_jaxpr(lambda x: f(x) * 2)(1.5)
    again = qjit(lambda x: jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, x)[0])
    np.testing.assert_allclose(again(0.5), np.exp(0.5))
    linear = jax.linearize(f, 1.5)[1]
    np.testing.assert_allclose(qjit(linear)(1.0), linear(1.0))


def test_draws_of_loops_that_are_differentiated():
    """What does not depend on the turn is not moved out of the loop: each turn draws anew."""

    @qjit
    @qml.set_shots(1)
    @qml.qnode(qml.device("default.qubit", wires=1), diff_method="parameter-shift")
    def toss(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    def total(x):
        return jax.lax.scan(lambda sum_, _: (sum_ + toss(x), toss(x)), 0.0, None, length=40)

    transformed = jax.jit(jax.value_and_grad(total, has_aux=True))
    (value, tosses), slope = transformed(1.5)
    assert abs(float(value)) < 40
    assert set(tosses.tolist()) == {1.0, -1.0}
    assert slope == pytest.approx(-40, abs=8)
    slopes = {float(transformed(0.5)[1]) for _ in range(3)}
    assert all(-40 < slope < 0 for slope in slopes)
