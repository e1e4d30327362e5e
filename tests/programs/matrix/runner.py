"""One program of the matrix, run in every form at every size and compared with plain JAX.

A program is a function whose parameters are named in `inputs.INPUTS`, or `n`: the size itself.
Forms: with a *traced size*, `qjit` gets `n` and the arguments are built inside; with *abstracted
axes* it gets NumPy arrays, and `n` is `x.shape[0]`. In each form one compilation serves all sizes.

Where plain JAX raises, so must we, with the error that the program states for that size.
"""

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np

from diastase import qjit
from diastase.jit.stages.stages import Compiled, Stage
from diastase_runtime.errors import DiastaseError
from programs.matrix.inputs import INPUTS

SIZES = (0, 1, 2, 3, 8, 100)


@dataclass(frozen=True)
class Program:
    """A function of arrays, and what is special about it."""

    function: Callable[..., Any]
    refused: Mapping[int, type[DiastaseError]] = field(default_factory=dict)
    """Sizes at which JAX raises an error, and the error that we raise there."""
    tolerance: float = 1e-12
    """Relative and absolute; less strict where the order of a sum is not JAX's."""
    lenient: frozenset[int] = frozenset()
    """Sizes at which JAX raises an error while tracing, and we return what nothing is wrong with:
    a loop over an empty array does not run, a value set in one is dropped as in any other."""
    compilations: int = 1
    """More than one only where the program's result depends on its size by JAX's own rules."""
    eager: bool = False
    """Whether JAX evaluates it only eagerly: a size depends on data."""

    @property
    def parameters(self) -> Sequence[str]:
        """Names of the arguments."""
        return list(inspect.signature(self.function).parameters)


Run = Callable[[int], Any]


def plain_jax(program: Program) -> Mapping[int, Any]:
    """The results of JAX alone at every size at which there is one."""
    sizes = [n for n in SIZES if n not in program.refused and n not in program.lenient]
    for n in (*program.refused, *program.lenient):
        error = _outcome(lambda n: jax.eval_shape(lambda: _at_size(program, n)), n)
        assert isinstance(error, Exception), f"plain JAX at size {n} returns {error}"
    if program.eager:
        return {n: _at_size(program, n) for n in sizes}
    # One compilation for all sizes: XLA's takes most of the time of the whole matrix.
    evaluate = jax.jit(
        lambda given: [_at_size(program, n, given[n]) for n in sizes], compiler_options=_FAST
    )
    results = evaluate({n: _arrays(program, n) for n in sizes})
    return dict(zip(sizes, results, strict=True))


_FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def _arrays(program: Program, n: int) -> Mapping[str, Any]:
    return {name: _numpy(name, n) for name in program.parameters if name != "n"}


def _at_size(program: Program, n: int, given: Mapping[str, Any] | None = None) -> Any:
    arrays = given or {name: jnp.asarray(array) for name, array in _arrays(program, n).items()}
    return program.function(*(n if name == "n" else arrays[name] for name in program.parameters))


def with_traced_size(program: Program) -> Run:
    """The program compiled for a traced size."""

    def sized(n: Any) -> Any:
        return program.function(
            *(n if name == "n" else INPUTS[name].build(jnp, n) for name in program.parameters)
        )

    return qjit(sized)


def with_abstracted_axes(program: Program) -> Run:
    """The program compiled for arguments with axes of any size."""
    names = [name for name in program.parameters if name != "n"] or ["x"]

    def of_arrays(*arrays: Any) -> Any:
        given = dict(zip(names, arrays, strict=True))
        size = arrays[0].shape[next(iter(INPUTS[names[0]].axes))]
        return program.function(
            *(size if name == "n" else given[name] for name in program.parameters)
        )

    compiled = qjit(of_arrays, abstracted_axes=tuple(INPUTS[name].axes for name in names))
    return lambda n: compiled(*(_numpy(name, n) for name in names))


FORMS = {"traced size": with_traced_size, "abstracted axes": with_abstracted_axes}
"""What is compared with plain JAX."""


def _numpy(name: str, n: int) -> np.ndarray:
    return INPUTS[name].build(np, n)


def check(program: Program, expected: Mapping[int, Any]) -> Sequence[tuple[str, str]]:
    """Compare every form with the results of plain JAX; each form compiles once.

    Returns the equations that run on the host, as primitive and reason, the same in each form.
    """
    on_the_host = {form: _check_form(program, expected, form) for form in FORMS}
    first, *others = on_the_host.values()
    assert all(other == first for other in others), on_the_host
    return first


def _check_form(
    program: Program, expected: Mapping[int, Any], form: str
) -> Sequence[tuple[str, str]]:
    run = FORMS[form](program)
    with _compilations() as compiled:
        for n in SIZES:
            if n in program.lenient:
                continue
            try:
                _check_size(program, run, n, expected.get(n))
            except Exception as failure:
                failure.add_note(f"{form}, size {n}")
                raise
    assumed = [[a.text for a in stage.traced.program.assumptions] for stage in compiled]
    assert len(compiled) == program.compilations, f"{form}: {len(compiled)} for {assumed}"
    equations = [callback.equation for callback in compiled[0].module.callbacks]
    return sorted((one.primitive, one.reason) for one in equations if not one.users_own)


@contextmanager
def _compilations() -> Generator[list[Compiled]]:
    """Collects every program that is compiled, or found where it was compiled before."""
    compiled: list[Compiled] = []
    load_compiled = Stage._compiled

    def counted(stage: Stage, *arguments: Any) -> Compiled:
        compiled.append(load_compiled(stage, *arguments))
        return compiled[-1]

    with patch.object(Stage, "_compiled", counted):
        yield compiled


def _outcome(function: Run, n: int) -> Any:
    """The result, or the exception."""
    try:
        return function(n)
    except Exception as error:
        return error


def _check_size(program: Program, run: Run, n: int, expected: Any) -> None:
    if n in program.refused:
        error = _outcome(run, n)
        assert isinstance(error, program.refused[n]), repr(error)
        return
    found = run(n)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        _check_array(one, other, program.tolerance)


def _check_array(found: Any, expected: Any, tolerance: float) -> None:
    if jnp.issubdtype(jnp.asarray(expected).dtype, jax.dtypes.prng_key):
        found, expected = jax.random.key_data(found), jax.random.key_data(expected)
    expected = jnp.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.weak_type == expected.weak_type, "weak type"
    if jnp.issubdtype(expected.dtype, jnp.inexact):
        eps = float(jnp.finfo(expected.dtype).eps)
        tolerance = max(tolerance, 4 * eps)
        wide = np.complex128 if jnp.iscomplexobj(expected) else np.float64
        np.testing.assert_allclose(
            np.asarray(found).astype(wide),
            np.asarray(expected).astype(wide),
            rtol=tolerance,
            atol=tolerance,
        )
    else:
        np.testing.assert_array_equal(found, expected)
