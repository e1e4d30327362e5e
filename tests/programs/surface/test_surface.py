"""Every public function of JAX's modules of arrays runs in a compiled program with JAX's results.

A chunk of a table is one compiled program, which keeps the whole short; where it fails, each call
of the chunk is compiled alone, so that the failure names the functions.
"""

import importlib
import inspect
import warnings
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from programs.surface.calls import (
    lax,
    linear_algebra,
    nn,
    numpy_arrays,
    numpy_elementwise,
    random,
    scipy_functions,
)
from programs.surface.left_out import LEFT_OUT
from programs.surface.table import ARRAYS, Call, Table, with_arguments
from programs.surface.unlike import EQUAL_SAMPLES, REFUSED, TOLERANCES

TABLES: Mapping[str, Table] = {
    f"{module.__name__.removeprefix('surface.calls.')}.{name.lower()}": table
    for module in (
        lax,
        linear_algebra,
        nn,
        numpy_arrays,
        numpy_elementwise,
        random,
        scipy_functions,
    )
    for name, table in vars(module).items()
    if name.isupper() and not name.startswith("_")
}
CALLS: Table = {name: call for table in TABLES.values() for name, call in table.items()}

_CHUNK = 12
_FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def _chunks() -> Iterator[Any]:
    for topic, table in TABLES.items():
        names = [name for name in table if name not in REFUSED]
        for number, start in enumerate(range(0, len(names), _CHUNK)):
            yield pytest.param(names[start : start + _CHUNK], id=f"{topic}-{number}")


@pytest.mark.sample(7)
@pytest.mark.parametrize("names", list(_chunks()))
def test_functions_have_the_results_of_jax(names):
    chunk = {name: CALLS[name] for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of JAX: what a table calls may be deprecated
        if not _failures(chunk):
            return
        failures = {name: _failures({name: call}) for name, call in chunk.items()}
    wrong = [f"{name}: {failure}" for name, failure in failures.items() if failure]
    assert wrong, "fails only together"
    pytest.fail("\n\n".join(wrong))


@pytest.mark.parametrize("name", [name for name in REFUSED if name in CALLS])
def test_what_is_refused_raises_an_error_of_ours(name):
    with pytest.raises(REFUSED[name]):
        qjit(with_arguments({name: CALLS[name]}))(ARRAYS)


def _failures(chunk: Table) -> str:
    """What differs from plain JAX, or the error that was raised; empty where all is well."""
    expected = _plain_jax(chunk)
    try:
        results = qjit(with_arguments(chunk))(ARRAYS)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:600]}"
    return "\n".join(
        difference for name in chunk for difference in _differences(name, results, expected)
    )


def _plain_jax(chunk: Mapping[str, Call]) -> Any:
    program = with_arguments(chunk)
    try:
        return jax.jit(program, compiler_options=_FAST)(ARRAYS)
    except jax.errors.JAXTypeError:  # a size or a decision depends on data
        return program({name: jnp.asarray(array) for name, array in ARRAYS.items()})


def _differences(name: str, results: Any, expected: Any) -> Iterator[str]:
    ours, theirs = jax.tree.flatten(results[name]), jax.tree.flatten(expected[name])
    if ours[1] != theirs[1]:
        yield f"{name}: {ours[1]} instead of {theirs[1]}"
        return
    for result, wanted in zip(map(_plain, ours[0]), map(_plain, theirs[0]), strict=True):
        try:
            assert result.dtype == wanted.dtype, f"{result.dtype} instead of {wanted.dtype}"
            tolerance = TOLERANCES.get(name, 1e-6 if result.dtype == np.float32 else 1e-11)
            counted = result.dtype.kind in "iub"  # booleans, integers and random bits
            if counted or name.split(":")[0] in EQUAL_SAMPLES:
                tolerance = 0.0
            np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance, strict=True)
        except AssertionError as difference:
            yield f"{name}: {difference}"


def _plain(array: Any) -> np.ndarray:
    if isinstance(array, jax.Array) and jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(array))
    return np.asarray(array)


_MODULES = (
    "jax.numpy jax.numpy.linalg jax.numpy.fft jax.nn jax.nn.initializers jax.scipy.special"
    " jax.scipy.stats jax.scipy.linalg jax.scipy.signal jax.scipy.ndimage jax.scipy.integrate"
    " jax.scipy.interpolate jax.scipy.sparse.linalg jax.scipy.cluster.vq jax.scipy.fft"
    " jax.scipy.spatial.transform jax.scipy.optimize jax.random jax.lax jax.lax.linalg"
).split()


def _public(module: ModuleType) -> Iterator[str]:
    """Functions; and of `jax.scipy` the classes, which compute when they are called."""
    for name, value in vars(module).items():
        if name.startswith("_") or not callable(value):
            continue
        computes = module.__name__.startswith("jax.scipy") and not _is_tuple(value)
        if computes or not inspect.isclass(value):
            yield f"{module.__name__}.{name}"


def _is_tuple(value: Any) -> bool:
    """Whether it is a class of named results."""
    return inspect.isclass(value) and issubclass(value, tuple)


def test_every_public_function_is_called_or_left_out_for_a_reason():
    distributions = [
        f"jax.scipy.stats.{name}"
        for name, value in vars(importlib.import_module("jax.scipy.stats")).items()
        if inspect.ismodule(value)
    ]
    modules = map(importlib.import_module, [*_MODULES, *distributions])
    public = {name for module in modules for name in _public(module)}
    called = {name.split(":")[0] for name in CALLS}
    assert not sorted(public - called - set(LEFT_OUT)), "neither called nor left out"
    assert not sorted(called & set(LEFT_OUT)), "called and left out"


def test_calls_on_constants_are_staged_out():
    """Omnistaging: what depends on no argument is computed by the program too."""

    def mask(x):
        below = jnp.arange(x.shape[0])[:, None] > jnp.arange(x.shape[1])
        return jnp.where(below, x, jnp.sin(jnp.ones(3)))

    traced = qjit(mask).trace(np.ones((4, 3)))
    text = str(traced.jaxpr)
    assert text.count("iota") == 2, text
    assert " gt " in text, text
    assert " sin " in text, text
    assert not jax.tree.leaves(traced.jaxpr.consts), text
