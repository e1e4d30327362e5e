"""Compile a JAX function through lowering, pipeline and loader, and compare it with plain JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase_mlir import CompileOptions, DimensionBindings, Program, compile_module, lower
from diastase_runtime import Executable

jax.config.update("jax_enable_x64", True)

TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 4e-2,
    "float32": 1e-5,
    "complex64": 3e-5,
    "float64": 1e-11,
    "complex128": 1e-11,
}


@pytest.fixture(name="assert_same")
def assert_same_fixture():
    """`assert_same(found, expected, label)`: type, shape and values."""
    return assert_same


def physical(value):
    """What represents a value at the program's border: key data for keys."""
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    return np.ascontiguousarray(np.asarray(value)).reshape(np.shape(value))


def assert_same(found, expected, label=""):
    """Equal type, shape and (within what the element type resolves) values."""
    expected = physical(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), label
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, err_msg=label)
        return
    tolerance = TOLERANCE[expected.dtype.name]
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(
        found.astype(wide),
        expected.astype(wide),
        rtol=tolerance,
        atol=tolerance * 1e-2,
        err_msg=label,
    )


class Compiled:
    """A lowered and loaded program."""

    def __init__(self, program):
        self.lowered = lower(program)
        artifact = compile_module(self.lowered, CompileOptions()).artifact
        self.executable = Executable(artifact, [one.function for one in self.lowered.callbacks])

    def __call__(self, *arguments):
        arrays = [physical(argument) for argument in arguments]
        before = [array.copy() for array in arrays]
        results = self.executable(arrays)
        for array, copy in zip(arrays, before, strict=True):
            assert array.tobytes() == copy.tobytes(), "an argument was written to"
        return results


@pytest.fixture
def compile_program():
    return Compiled


@pytest.fixture
def compile_function():
    """`compile_function(function, *arguments)`: static shapes, of these arguments."""

    def build(function, *arguments):
        name = getattr(function, "__name__", "program")
        jaxpr = jax.make_jaxpr(lambda *values: function(*values))(*arguments)
        return Compiled(Program(name.strip("<>"), jaxpr))

    return build


@pytest.fixture
def compare(compile_function):
    """`compare(function, *arguments)` with plain JAX; gives the compiled program."""

    def check(function, *arguments):
        arguments = [
            jnp.asarray(argument) if isinstance(argument, np.ndarray) else argument
            for argument in arguments
        ]
        compiled = compile_function(function, *arguments)
        expected = jax.tree.leaves(function(*arguments))
        found = compiled(*arguments)
        assert len(found) == len(expected)
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"result {number}")
        return compiled

    return check


@pytest.fixture
def compare_native(compare):
    """`compare`, for what must not call Python when it runs."""

    def check(function, *arguments):
        compiled = compare(function, *arguments)
        assert [one.equation for one in compiled.lowered.callbacks] == []
        return compiled

    return check


@pytest.fixture
def compare_native_dynamic(compare_dynamic):
    """`compare_dynamic`, for what must not call Python when it runs."""

    def check(function, specs, argument_lists):
        compiled = compare_dynamic(function, specs, argument_lists)
        assert [one.equation for one in compiled.lowered.callbacks] == []

    return check


@pytest.fixture
def compare_dynamic():
    """`compare_dynamic(function, specs, argument_lists)`: compiled once, run at several sizes.

    A spec is a dtype name and a shape such as `"n, 3"`; every symbol is bound to the first axis
    that has it.
    """

    def check(function, specs, argument_lists):
        scope = jax.export.SymbolicScope()
        structures = [
            jax.ShapeDtypeStruct(jax.export.symbolic_shape(shape, scope=scope), dtype)
            for dtype, shape in specs
        ]
        jaxpr = jax.make_jaxpr(lambda *values: function(*values))(*structures)
        compiled = Compiled(Program("dynamic", jaxpr, bindings_of(jaxpr)))
        for arguments in argument_lists:
            expected = jax.tree.leaves(function(*map(jnp.asarray, arguments)))
            found = compiled(*arguments)
            for number, (one, other) in enumerate(zip(found, expected, strict=True)):
                shapes = [argument.shape for argument in arguments]
                assert_same(one, other, f"result {number} for shapes {shapes}")
        return compiled

    return check


def bindings_of(jaxpr):
    """Bind each bare symbol in the arguments' shapes to the first axis that has it."""
    seen, axes = set(), {}
    for variable in jaxpr.jaxpr.invars:
        pairs = []
        for axis, size in enumerate(variable.aval.shape):
            name = str(size)
            if not isinstance(size, int) and name.isidentifier() and name not in seen:
                seen.add(name)
                pairs.append((name, axis))
        axes[variable] = tuple(pairs)
    return DimensionBindings(axes=axes)
