"""JAX's own lowering is undisturbed, also in another thread while ours is at work; refusals."""

import re
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

from diastase_mlir import LoweringError, Program, UnsupportedTypeError, lower
from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import DIALECTS
from diastase_mlir.lowering.core import registry

V = np.array([2.0, -1.0, 5.0, 0.5])


def exported():
    """A shape-polymorphic program with a loop, lowered by JAX alone: lines less locations."""
    shape = jax.ShapeDtypeStruct(export.symbolic_shape("n, 3"), np.float64)

    def function(x):
        return lax.fori_loop(0, 3, lambda i, y: y * 2, jnp.concatenate([x, x]).reshape(-1))

    text = export.export(jax.jit(function))(shape).mlir_module()
    lines = re.sub(r"loc\(.*\)|#loc.*", "", text).split("\n")
    return [line for line in lines if line.strip()]


def test_plain_jax_lowers_as_before(compile_function):
    before = exported()
    compile_function(lambda v: lax.fori_loop(0, 3, lambda i, x: x * 2, v), V)
    assert exported() == before
    assert "stablehlo.while" in "".join(before)


def test_plain_jax_in_another_thread(compile_function, monkeypatch):
    before, during = exported(), []
    jaxpr = jax.make_jaxpr(lambda v: lax.rev(v * 2, (0,)))(V)
    entry = registry.rule_of("rev")

    def slow_rule(*arguments):
        thread = threading.Thread(target=lambda: during.append(exported()))
        thread.start()
        thread.join()
        return entry.rule(*arguments)

    monkeypatch.setitem(registry._rules, "rev", registry.Entry(slow_rule, False, False))
    lower(Program("threads", jaxpr))
    assert during == [before]


def test_eager_jax_inside_a_rule(monkeypatch):
    jaxpr = jax.make_jaxpr(lambda v: lax.rev(v * 2, (0,)))(V)
    entry = registry.rule_of("rev")
    seen = []

    def rule(*arguments):
        seen.append(float(jax.jit(lambda x: lax.fori_loop(0, 5, lambda i, y: y * 2, x))(1.0)))
        return entry.rule(*arguments)

    monkeypatch.setitem(registry._rules, "rev", registry.Entry(rule, False, False))
    lower(Program("eager", jaxpr))
    assert seen == [32.0]


def test_a_failed_attempt_leaves_no_trace(compile_function):
    """JAX's rule for numbers from XLA's own generator emits what does not convert."""

    def disturbed(v):
        return v + lax.rng_uniform(0.0, 1.0, v.shape)

    text = compile_function(disturbed, V).lowered.text
    assert "stablehlo.rng" not in text
    assert "scratch" not in text
    assert re.findall(r"custom_call @(\S+?)\(", text) == ["diastase.callback"]
    assert "func.func private" not in text


def test_locations_are_the_users_lines():
    def function(x):
        return jnp.sin(x)

    lowered = lower(Program("function", jax.make_jaxpr(function)(V)))
    with session(DIALECTS):
        module = ir.Module.parse(lowered.bytecode)
        text = module.operation.get_asm(enable_debug_info=True)
    line = function.__code__.co_firstlineno + 1
    assert f'"{__file__}":{line}:0' in text


def test_site_of_an_equation_inside_a_library_function():
    """Equations in a function that JAX has traced before may lack a line: the call's is taken."""
    jaxpr = jax.make_jaxpr(lambda x: jnp.fft.fft(x))(V)
    (place,) = lower(Program("fft", jaxpr)).sites
    assert (place.file, place.construct) == (__file__, "fft")


def test_type_that_programs_cannot_hold():
    with pytest.raises(UnsupportedTypeError, match="float8"):
        lower(Program("narrow", jax.make_jaxpr(lambda v: v.astype("float8_e5m2"))(V)))


def test_value_that_is_no_array():
    def function(x):
        token = lax.create_token()
        return lax.after_all(token), x

    with pytest.raises((LoweringError, UnsupportedTypeError)):
        lower(Program("token", jax.make_jaxpr(function)(V)))


def test_mutable_references(compare):
    def function(v):
        reference = jax.new_ref(v * 1)
        reference[0] = 9.0
        reference[1:3] = reference[1:3] * 2
        return reference[...]

    compare(function, V)
