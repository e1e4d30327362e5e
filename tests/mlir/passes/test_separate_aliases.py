"""`separate_aliases`: nobody sees what is written to an array that only shares its memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import for_loop, qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.buffers.separate_aliases import separate_aliases


def views_of_one_array(a, b, n):
    def body(i, carried):
        a, b = carried
        z = jnp.sort(jnp.concatenate([a.at[i].add(1), b]) * 0.5)
        return z[:4], z[1:5]

    return lax.fori_loop(0, n, body, (a, b))


def one_array_twice(a, b, n):
    def body(carried):
        i, a, b = carried
        z = jnp.roll(a.at[i].add(1), 1) * 0.5 + b
        return i + 1, z, z

    return lax.while_loop(lambda carried: carried[0] < n, body, (0, a, b))


def a_constant(a, b, n):
    def body(i, carried):
        a, b, s = carried
        a = a.at[i].add(1)
        fixed = jnp.arange(4, dtype=a.dtype) * 3
        return fixed, fixed, s + a.sum() + b.sum()

    return lax.fori_loop(0, n, body, (a, b, a[0]))


def what_was_there_before(a, b, n):
    def body(i, carried):
        a, c, s = carried
        a = a.at[i].add(1)
        return b, b[::-1][::-1], s + a.sum() + c.sum()

    return lax.fori_loop(0, n, body, (a, b, a[0]))


def branches(a, b, n):
    def sorted_twice(a):
        z = jnp.sort(a)
        return z, z

    a, b = lax.cond(n > 2, sorted_twice, lambda a: (a + 1, a * 2), a)
    return a.at[n - 2].add(10.0), b


def loops_in_loops(a, b, n):
    @for_loop(0, n, 1)
    def outer(i, a, b):
        @for_loop(0, 2, 1)
        def inner(j, a, b):
            z = jnp.sort(jnp.concatenate([a.at[j].add(i), b]) * 0.5)
            return z[:4], z[3:7]

        a, b = inner(a, b)
        return b, a

    return outer(a, b)


def functions_that_return_views(a, b, n):
    @jax.jit
    def parts(a, b):
        z = jnp.sort(jnp.concatenate([a, b]))
        for _ in range(20):
            z = jnp.sin(z) + z
        return z[:4], z[1:5]

    for i in range(3):
        a, b = parts(a.at[i].add(n), b)
        a = a.at[i].set(7.0)
    return a, b


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "function",
    [
        views_of_one_array, one_array_twice, a_constant, what_was_there_before, branches,
        loops_in_loops, functions_that_return_views,
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_answers_are_jaxs(function, dtype):
    array = np.arange(4.0).astype(dtype)
    compiled = qjit(function)
    for n in (0, 1, 3, 4):
        expected = function(jnp.asarray(array), jnp.asarray(array + 1), n)
        for own, wanted in zip(compiled(array, array + 1, n), expected, strict=True):
            np.testing.assert_allclose(own, wanted, rtol=1e-6)


def copies(body, result):
    text = f"""
        func.func private @f(%a: tensor<9xf64>, %b: tensor<9xf64>, %x: f64, %i: index, %t: i1)
            -> (tensor<9xf64>, tensor<9xf64>) {{
          {body}
          return {result} : tensor<9xf64>, tensor<9xf64>
        }}"""
    with session():
        module = parse(text.encode())
        separate_aliases(module)
        assert module.operation.verify()
        return str(module).count("bufferization.alloc_tensor")


def test_what_cannot_be_one_memory_is_not_copied():
    update = "%c = tensor.insert %x into %a[%i] : tensor<9xf64>\n"
    other = "%d = tensor.insert %x into %b[%i] : tensor<9xf64>\n"
    assert copies(update + other, "%c, %d") == 0
    assert copies("", "%a, %b") == 0
    assert copies("", "%a, %a") == 1
    assert copies(update, "%a, %c") == 1
    choice = "%e = arith.select %t, %a, %b : tensor<9xf64>\n"
    assert copies(choice, "%e, %b") == 1


def test_constants_are_copied():
    constant = "%c = arith.constant dense<1.0> : tensor<9xf64>\n"
    assert copies(constant, "%c, %b") == 1
    assert copies(constant, "%c, %c") == 2


PARTS = {
    "a column": (lambda m: jnp.sort(m, axis=1)[:, 0], 3),
    "rows as a vector": (lambda m: jnp.cumsum(m, axis=1)[1:].reshape(-1), 6),
    "a loop of a column": (
        lambda m: lax.fori_loop(0, 3, lambda i, a: jnp.sin(a), jnp.sort(m, axis=1)[:, 1]),
        3,
    ),
    "a branch of a branch": (
        lambda m: lax.cond(m[0, 0] > 1, lambda: m[0], lambda: jnp.sort(m, axis=1)[:, 2]),
        3,
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_branches_agree_on_layouts(name):
    part, size = PARTS[name]

    def function(takes_part, m, x):
        one = lax.cond(takes_part, lambda: part(m), lambda: x * 2)
        other = lax.cond(takes_part, lambda: x * 3, lambda: part(m))
        return one, other

    compiled, m, x = qjit(function), jnp.arange(9.0).reshape(3, 3), jnp.ones(size)
    for takes_part in (False, True):
        expected = function(takes_part, m, x)
        for own, wanted in zip(compiled(takes_part, m, x), expected, strict=True):
            np.testing.assert_allclose(own, wanted, rtol=1e-12)
