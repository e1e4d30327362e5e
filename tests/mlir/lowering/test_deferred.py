"""Numbers, slices and short vectors that are no arrays before somebody asks for them as such."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit


def _same(function, *arguments, rtol=1e-14):
    found, wanted = qjit(function)(*arguments), jax.jit(function)(*arguments)
    for own, expected in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert own.dtype == expected.dtype
        assert own.shape == expected.shape
        np.testing.assert_allclose(own, expected, rtol=rtol, atol=0)


def test_numbers_of_an_array_are_no_arrays():
    """Elements, arithmetic, and the array of the results: an operation each, and one for all."""

    def program(x, y):
        return jnp.concatenate([(jnp.sin(x[i]) * y)[None] for i in range(40)][::-1])

    x = np.linspace(0.0, 2.0, 40)
    text = qjit(program).lower(x, 0.5).as_text("scalarize")
    assert "stablehlo" not in text
    assert "extract_slice" not in text
    assert text.count("math.sin") == text.count("arith.mulf") == 40
    assert text.count("tensor.from_elements") == 1
    _same(program, x, 0.5)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_arithmetic_on_numbers(dtype):
    """All that has an operation of its own, at values where these have corners."""

    def program(x, y):
        unary = [jnp.abs(x), -x, jnp.square(x), x.astype("float32"), x.astype("int64"), x != 0]
        binary = [x + y, x - y, x * y, jnp.maximum(x, y), jnp.minimum(x, y), x / y]
        compared = [x < y, x <= y, x > y, x >= y, x == y, (x < y) & (x == x), (x < y) ^ (y < 0)]
        floats = []
        if jnp.issubdtype(x.dtype, jnp.floating):
            floats = [x**n for n in (-3, -2, -1, 0, 1, 2, 3, 5)] + [jax.lax.pow(x, y), x % y]
            floats += [jax.lax.pow(x, (y == y).astype(kind) * 3) for kind in ("int32", "int64")]
            floats += [jnp.sqrt(x), jnp.exp(x), jnp.log1p(x), jnp.expm1(x), jnp.tanh(x)]
            floats += [jnp.floor(x), jnp.ceil(x), jnp.arctan2(x, y), jnp.cbrt(x), jax.lax.rsqrt(x)]
        return [*unary, *binary, *compared, *floats, jnp.where(x < y, x, y), (x > y) + y]

    compiled, jitted = qjit(program), jax.jit(program)
    corners = [0, 1, -1, 3, 7] if "int" in dtype else [0.0, -0.0, 1.5, -2.5, np.inf, np.nan, 1e-4]
    if "int" in dtype:
        corners += [np.iinfo(dtype).min, np.iinfo(dtype).max]
    for a in corners:
        for b in corners:
            x, y = np.dtype(dtype).type(a), np.dtype(dtype).type(b)
            for own, expected in zip(compiled(x, y), jitted(x, y), strict=True):
                assert own.dtype == expected.dtype
                np.testing.assert_allclose(own, expected, rtol=3e-7 if "32" in dtype else 2e-15)
                if jnp.issubdtype(own.dtype, jnp.floating) and own == 0:
                    assert np.signbit(own) == np.signbit(expected)


def test_pieces_are_seen_through():
    """Slices of slices and of lists of numbers, splits and reversals, of several types."""

    def program(x, flags, numbers, z):
        table = jnp.concatenate([x[i : i + 1] + i for i in range(9)] + [x[3:5][1:2]])
        a, b, c = jnp.split(x[1:10:2], [2, 3])
        parts = jnp.concatenate([table[1:8:3], a, b[::-1], c, x[0:1], x[2:3], table[5:6]])
        chosen = jnp.stack([flags[0], flags[2], numbers[1] > 3])
        numbered = jnp.array([1.0, z[0] * x[1], 0.3j, x[2]])
        pair = jnp.stack([numbers[3], numbers[0]])
        return parts, table[::-1], chosen, pair, z[1] * z[0], z[2:3], numbered

    x = np.linspace(0.1, 3.0, 11)
    flags, numbers = np.array([True, False, True]), np.array([3, 250, 7, 9], np.uint8)
    _same(program, x, flags, numbers, np.array([1 + 2j, 3 - 1j, 0.5j]))


def test_used_in_a_loop_and_after_it():
    """What a loop's body emits is not used after the loop; nor is it computed in each turn."""

    def program(x, n):
        pair = jnp.concatenate([x[0:1] * 2, x[3:4]])
        part = x[1:4]

        def body(i, carry):
            return carry * 0.5 + pair[i % 2] + part.sum()

        total = jax.lax.fori_loop(0, n, body, x[2])
        chosen = jax.lax.cond(n > 3, lambda: pair + part[0], lambda: pair[::-1])
        return total, chosen, pair, part

    x = np.linspace(0.3, 1.0, 5)
    for n in (0, 1, 5):
        _same(program, x, n)


def test_many_arrays_side_by_side():
    """More than a few arrays, whose sizes may be known at run time only, some of them empty."""

    def program(x, y):
        rows = jnp.concatenate([x, y, x[:1], 2 * y, x * y.sum(), y[1:0], x[::-1]])
        columns = jnp.concatenate([x.T, y.T, x.T[:, :1], 2 * y.T, x.T], axis=1)
        return rows, columns, jnp.concatenate([x.astype(jnp.uint8)] * 6)

    compiled = qjit(program, abstracted_axes=({0: "n"}, {0: "m"}))
    for n, m in ((1, 1), (2, 0), (3, 5), (17, 2)):
        x, y = (np.arange(2.0 * size).reshape(size, 2) for size in (n, m))
        expected = program(jnp.asarray(x), jnp.asarray(y))
        for own, wanted in zip(compiled(x, y), expected, strict=True):
            np.testing.assert_array_equal(own, wanted)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "bool", "complex128", "bfloat16"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_arrays_side_by_side(dtype, axis):
    """Stacked and taken apart again, along each axis; numbers, too."""

    def program(x):
        parts = jnp.unstack(x, axis=axis)
        numbers = jnp.unstack(x[0, 0])
        return jnp.stack(parts[::-1], axis=axis), jnp.stack(numbers[::-1]), jnp.stack([x, x], 3)

    _same(program, jnp.asarray(np.arange(60).reshape(3, 4, 5) % 7, dtype))


def test_stacked_numbers_are_no_chain_of_updates():
    """Bufferization would compare all updates of an array in pairs."""

    def program(x):
        numbers = [jnp.sin(y) for y in jnp.unstack(x)]
        return jnp.stack(numbers), jnp.stack([jnp.full(3, number) for number in numbers])

    x = np.linspace(0.0, 2.0, 40)
    text = qjit(program).lower(x).as_text()
    assert "tensor.insert" not in text
    assert "extract_slice" not in text
    _same(program, x)


def test_stacked_sizes_known_late():
    function = qjit(lambda x: jnp.stack([x, 2 * x, x[::-1]], axis=1), abstracted_axes={0: "n"})
    for size in (4, 0, 7):
        x = np.arange(size, dtype=float)
        np.testing.assert_array_equal(function(x), np.stack([x, 2 * x, x[::-1]], axis=1))
