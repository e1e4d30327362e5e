"""JAX's errors about tracers come out as ours: with the user's line and what to do."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import for_loop, grad, qjit
from diastase.capture.tracer_errors import (
    LeakedTracerError,
    TracedArrayError,
    TracedConditionError,
    TracedIndexError,
    TracedValueError,
)
from diastase.dynamic_shapes.errors import UnknownSizesDifferError, UnknownSizeUnsupportedError
from diastase.tracing.trace import trace
from diastase_runtime.errors import DiastaseError


def branches(x):
    return x if x > 0 else -x


def combines(x):
    return x > 0 and x < 3


def counts(n):
    return sum(i for i in range(n))


def indexes_a_list(n):
    return [1, 2, 3][n]


def converts(x):
    return math.sqrt(x)


def uses_numpy(x):
    return np.sin(x)


FAILURES = {
    branches: (1.0, TracedConditionError, jax.errors.TracerBoolConversionError),
    combines: (1.0, TracedConditionError, jax.errors.TracerBoolConversionError),
    counts: (3, TracedIndexError, jax.errors.TracerIntegerConversionError),
    indexes_a_list: (1, TracedIndexError, jax.errors.TracerIntegerConversionError),
    converts: (1.0, TracedValueError, jax.errors.ConcretizationTypeError),
    uses_numpy: (1.0, TracedArrayError, jax.errors.TracerArrayConversionError),
}


@pytest.mark.parametrize("function", FAILURES, ids=lambda function: function.__name__)
def test_errors_about_tracers(function):
    argument, ours, jaxs = FAILURES[function]
    with pytest.raises(ours) as caught:
        trace(lambda x: [function(x)], [jax.typeof(argument)], "f")
    error = caught.value
    assert isinstance(error, jaxs)
    assert isinstance(error, DiastaseError)
    assert error.span.file == __file__
    assert error.span.function.startswith(function.__name__)
    assert "help:" in str(error)


def test_a_leaked_value_is_refused():
    kept = []

    def keep(x):
        kept.append(x * 2)
        return [x]

    trace(keep, [jax.typeof(1.0)], "f")
    with pytest.raises(LeakedTracerError):
        trace(lambda x: [x + kept[0]], [jax.typeof(1.0)], "f")


@pytest.mark.parametrize("transform", [lambda f: qjit(grad(f)), lambda f: jax.grad(qjit(f))])
def test_a_rule_of_derivatives_that_closes_over_values_of_a_loop_is_refused(transform):
    def cost(x):
        @for_loop(0, 3, 1)
        def loop(i, scaled, factor):
            scale = jax.custom_jvp(lambda value: factor * value)
            scale.defjvp(lambda values, tangents: (scale(*values), factor * tangents[0]))
            return scale(scaled), factor + 1

        return loop(x, x)[0]

    with pytest.raises(LeakedTracerError, match="pass them as arguments") as caught:
        transform(cost)(1.5)
    assert caught.value.span.text == "return loop(x, x)[0]"


def test_errors_of_the_user_pass_unchanged():
    def fail(x):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        trace(fail, [jax.typeof(1.0)], "f")


def test_an_error_inside_a_region_names_its_line():
    def function(n):
        def body(i, v):
            return v + float(i)

        return [jax.lax.fori_loop(0, n, body, 0.0)]

    with pytest.raises(TracedValueError) as caught:
        trace(function, [jax.typeof(3)], "f")
    assert caught.value.span.text == "return v + float(i)"


UNKNOWN_SIZES = {
    "sum": lambda n, x: jnp.ones(n) + x,
    "product": lambda n, x: jnp.ones((2, n)) @ x,
    "broadcast": lambda n, x: jnp.broadcast_to(x, (n,)),
    "branches": lambda n, x: jnp.where(x > 0, jnp.ones(n), x),
}


@pytest.mark.parametrize("name", UNKNOWN_SIZES)
def test_sizes_that_differ_in_the_call_at_hand(name):
    function = UNKNOWN_SIZES[name]
    x = jnp.ones(3)
    types = [jax.typeof(2), jax.typeof(x)]
    with pytest.raises(UnknownSizesDifferError) as caught:
        trace(lambda n, x: [function(n, x)], types, "f", ["n", "x"], [2, x])
    assert isinstance(caught.value, TypeError)
    assert caught.value.span.file == __file__
    assert "d0" in caught.value.what
    traced = trace(lambda n, x: [function(n, x)], types, "f", ["n", "x"], [3, x])
    assert traced.program.assumptions[0].comparison == "=="


def test_sizes_that_always_differ():
    with pytest.raises(UnknownSizesDifferError):
        trace(lambda n: [jnp.ones(n) + jnp.ones(n + 1)], [jax.typeof(3)], "f")


def test_operations_for_known_sizes_only():
    def padded(n):
        return [jnp.pad(jnp.arange(n), n, mode="reflect", reflect_type="odd")]

    with pytest.raises(UnknownSizeUnsupportedError) as caught:
        trace(padded, [jax.typeof(3)], "f")
    assert caught.value.span.file == __file__


def test_an_error_of_the_user_about_a_shape_passes_unchanged():
    def fail(n):
        raise ValueError(f"I do not like {jnp.ones(n).shape}")

    with pytest.raises(ValueError, match="I do not like") as caught:
        trace(fail, [jax.typeof(3)], "f")
    assert not isinstance(caught.value, DiastaseError)
