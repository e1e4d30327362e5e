"""`x + 1.5` of traced numbers is the equation that JAX records: the same types and literals."""

import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase.capture.jax_overlays import scalar_operators
from diastase.tracing.trace import trace

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Explicitly requested dtype"),  # of 64 bits in 32
]

TRACED = {
    **{
        name: lambda name=name: jnp.zeros((), name)
        for name in ("float32", "float64", "int32", "bool", "complex64")
    },
    "a Python float": lambda: 0.5,
    "a Python integer": lambda: 2,
}
OTHERS = [
    *(0, 1, -3, 2**24 - 1, 2**24, -(2**24), 2**40, 2**70, True),
    *(0.0, -0.0, 1.5, 0.1, 1e-29, 1e-31, 1e-40, 1e31, 1e300, -1e-310),
    *(float("nan"), float("inf"), -float("inf"), 2j),
    *(np.float32(0.1), np.float64(0.1), np.int32(3), np.ones(2)),
]


def equations(function, *arguments):
    """What is recorded, with all types; or the error."""
    types = [jax.typeof(argument) for argument in arguments]
    try:
        jaxpr = trace(function, types, "f").program.jaxpr
    except (TypeError, OverflowError) as error:
        return type(error)
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    atoms = [atom for eqn in jaxpr.eqns for atom in (*eqn.invars, *eqn.outvars)]
    return str(jaxpr), [(str(atom.aval), atom.aval.weak_type) for atom in atoms]


@pytest.fixture(params=[True, False], ids=["64 bits", "32 bits"])
def wide(request):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def by_jax(monkeypatch):
    """The same as recorded by JAX's own operators."""

    def record(function, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(scalar_operators, "_under_its_type", lambda *_: None)
            return equations(function, *arguments)

    return record


@pytest.mark.sample(4)
@pytest.mark.parametrize("traced", TRACED.values(), ids=TRACED)
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_a_number_and_a_traced_one(name, traced, wide, by_jax):
    apply = getattr(operator, name)
    for number in OTHERS:
        for function in (lambda x: [apply(x, number)], lambda x: [apply(number, x)]):  # noqa: B023
            assert equations(function, traced()) == by_jax(function, traced()), number


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_two_traced_numbers(name, wide, by_jax):
    apply = getattr(operator, name)
    for left in TRACED.values():
        for right in TRACED.values():
            both = left(), right()
            found = equations(lambda x, y: [apply(x, y)], *both)
            assert found == by_jax(lambda x, y: [apply(x, y)], *both)


def test_values_of_functions_that_jax_traces(wide, by_jax):
    def function(x, y):
        slope = jax.grad(lambda z: z * 2.0 + x * z - 1)(x)
        mapped = jax.vmap(lambda z: z * 2.0 + x - 1)(jnp.ones(3) + y)
        return [slope, mapped, jax.jvp(lambda z: 2 * z - y * z, (x,), (y,))[1]]

    assert equations(function, jnp.float32(1), 0.5) == by_jax(function, jnp.float32(1), 0.5)


def test_promotion_is_left_out_for_plain_floats(monkeypatch):
    calls = []
    monkeypatch.setattr(
        scalar_operators, "of_outcomes", lambda _, original, x, y: calls.append(y) or original(x, y)
    )
    equations(lambda x: [1.5 * x + 2 - x, 3 - (x * x) * 0.1], jnp.float32(1))
    equations(lambda x: [1.5 * x + 2 - x, 3 - (x * x) * 0.1], 0.5)
    assert not calls
    equations(lambda x: [x + 1e40], jnp.float32(1))
    assert calls == [1e40]
