"""A program compiled for floats serves ints where that is what JAX computes, and only there."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import RecompilationWarning, qjit


def compiled_libraries(function):
    return len({compiled.library for compiled in function._specialisations.compiled()})


SHARED = {
    "scaled": lambda x: x * 2.0,
    "sine": lambda x: jnp.sin(x) * x,
    "root": lambda x: jnp.sqrt(x) + jnp.exp(x),
}
NOT_SHARED = {
    "doubled": lambda x: x * 2,
    "floored": lambda x: x // 2 * 1.0,
    "both": lambda x: (jnp.cos(x), x),
    "typed": lambda x: jnp.float64(1.0) * (x.dtype == jnp.float64),
}
ARGUMENTS = {
    "numbers": (2.5, 3),
    "arrays": (jnp.array([0.5, 1.5]), jnp.array([3, -4])),
    "32 bits": (jnp.array([0.5, 1.5]), jnp.array([3, -4], jnp.int32)),
}


def same(have, want):
    have, want = jax.tree.leaves(have), jax.tree.leaves(want)
    for left, right in zip(have, want, strict=True):
        np.testing.assert_array_max_ulp(np.asarray(left), np.asarray(right), 2)
        assert (left.dtype, left.weak_type) == (right.dtype, right.weak_type)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ARGUMENTS)
@pytest.mark.parametrize("name", [*SHARED, *NOT_SHARED])
def test_promotion_is_what_jax_computes(name, kind):
    program = {**SHARED, **NOT_SHARED}[name]
    floats, integers = ARGUMENTS[kind]
    function = qjit(program)
    for given in (floats, integers, floats, integers):
        same(function(given), jax.jit(program)(given))
    if kind == "numbers":  # an integer array times 2.0 has a weak type, a float array has not
        assert compiled_libraries(function) == (1 if name in SHARED else 2)


def test_the_report_of_a_promoted_call():
    doubled = qjit(lambda x: x * 2.0)
    assert (doubled(1.5), doubled(2)) == (3, 4)
    assert "x: int64[]" in doubled.report().title


def test_a_declared_function_is_not_compiled_again_for_what_is_promoted():
    """As in Catalyst; what is not declared follows JAX."""
    doubled = qjit(declared_double)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (doubled(1), doubled(1).dtype) == (2, np.float64)
    with pytest.warns(RecompilationWarning, match="recompiling") as caught:
        assert doubled(1j) == 2j
    assert caught[0].filename == __file__


def declared_double(x: float):
    return x + x
