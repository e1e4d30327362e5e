"""Loops and branches: JAX's, nested and vectorised, and our primitives made by hand."""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import ClosedJaxpr, Primitive

from diastase import for_loop, qjit
from diastase_mlir import Program
from diastase_runtime.errors import DiastaseError

V = np.array([2.0, -1.0, 5.0, 0.5])
A = np.arange(6.0).reshape(2, 3)

JAX_CASES = {
    "while": (
        lambda v: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (0, v)),
        V,
    ),
    "while_never": (lambda v: lax.while_loop(lambda c: c[0] > 99, lambda c: c * 2, v), V),
    "while_constants": (
        lambda v: lax.while_loop(lambda c: c.sum() < v[2] * 9, lambda c: c + jnp.abs(v), v),
        V,
    ),
    "while_batched": (
        jax.vmap(lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * 2 + 1, x)),
        np.abs(V),
    ),
    "while_batched_arrays": (
        jax.vmap(lambda r: lax.while_loop(lambda c: c.sum() < 30, lambda c: c * 2 + 1, r)),
        A,
    ),
    "fori": (lambda v: lax.fori_loop(0, 4, lambda i, s: s + v[i] * i, 0.0), V),
    "fori_traced": (lambda n: lax.fori_loop(0, n, lambda i, s: s * 2 + i, 1), np.int64(6)),
    "fori_empty": (lambda n: lax.fori_loop(3, n, lambda i, s: s * 2, V), np.int64(1)),
    "fori_in_place": (lambda v: lax.fori_loop(0, 4, lambda i, s: s.at[i].set(i * 1.0), v), V),
    "fori_swap": (lambda v: lax.fori_loop(0, 3, lambda i, s: (s[1], s[0]), (v, v * 2)), V),
    "fori_nested": (
        lambda v: lax.fori_loop(
            0, 3, lambda i, s: lax.fori_loop(0, i, lambda j, q: q.at[j].add(1.0 * i), s), v
        ),
        V,
    ),
    "fori_types": (
        lambda v: lax.fori_loop(
            0,
            3,
            lambda i, c: (~c[0], c[1] + 250, c[2] * 1j, c[3][::-1]),
            (True, jnp.uint8(3), 1 + 2j, v.astype("uint32")),
        ),
        np.abs(V),
    ),
    "scan": (lambda a: lax.scan(lambda c, r: (c + r, c * r), a[0], a), A),
    "scan_reverse": (lambda v: lax.scan(lambda c, x: (c * 0.5 + x, c), 0.0, v, reverse=True), V),
    "scan_no_inputs": (lambda v: lax.scan(lambda c, _: (c * 2, c.sum()), v, length=3), V),
    "scan_zero_steps": (lambda v: lax.scan(lambda c, x: (c + x, x), 1.0, v[:0]), V),
    "scan_one_step": (lambda v: lax.scan(lambda c, x: (c + x, x), 1.0, v[:1]), V),
    "scan_unsigned": (
        lambda v: lax.scan(lambda c, x: (c + x, (c, x > 3)), jnp.uint8(0), v),
        np.array([200, 3, 100], np.uint8),
    ),
    "scan_grad": (jax.grad(lambda v: lax.scan(lambda c, x: (c * x, c), 1.0, v)[0]), V),
    "map": (lambda a: lax.map(lambda r: r / r.sum(), a + 1), A),
    "associative_scan": (lambda v: lax.associative_scan(jnp.add, v), V),
    "cond": (lambda v: lax.cond(v[0] > 0, lambda x: x * 2, lambda x: x, v), V),
    "cond_other": (lambda v: lax.cond(v[1] > 0, lambda x: x * 2, lambda x: x, v), V),
    "cond_nested": (
        lambda v: lax.cond(
            v[0] > 0, lambda x: lax.cond(v[1] > 0, jnp.sin, jnp.cos, x), lambda x: x, v
        ),
        V,
    ),
    "cond_carried": (
        lambda v: lax.fori_loop(
            0, 5, lambda i, x: lax.cond(i % 2 == 0, lambda y: y * y, lambda y: y, x), v
        ),
        V,
    ),
    "cond_no_operands": (lambda v: lax.cond(v[0] > 9, lambda: 1, lambda: 2), V),
    "cond_batched": (jax.vmap(lambda x: lax.cond(x > 0, jnp.sqrt, jnp.negative, x)), V),
    "cond_grad": (jax.grad(lambda v: lax.cond(v[0] > 0, jnp.sum, jnp.prod, v)), V),
    "switch": (
        lambda n: [
            lax.switch(n + k, [lambda x: x, lambda x: x * 2, lambda x: x * 3], V)
            for k in range(-2, 4)
        ],
        np.int64(0),
    ),
    "switch_single": (lambda v: lax.switch(3, [lambda x: x * 2], v), V),
    "jit_inside": (lambda v: lax.fori_loop(0, 2, lambda i, x: jax.jit(jnp.sin)(x), v), V),
}  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", JAX_CASES)
def test_jax_control_flow(compare, name):
    function, *arguments = JAX_CASES[name]
    compare(function, *arguments)


# --- our primitives, bound as tracing binds them ------------------------------------------------


def primitive(name, results_of):
    """A primitive of ours, known to this layer by its name only."""
    made = Primitive(name)
    made.multiple_results = True
    made.def_abstract_eval(results_of)
    return made


for_loop_p = primitive(
    "for_loop", lambda *avals, body_jaxpr, body_nconsts, **_: body_jaxpr.out_avals
)
while_loop_p = primitive("while_loop", lambda *avals, body_jaxpr, **_: body_jaxpr.out_avals)
switch_p = primitive("switch", lambda *avals, branch_jaxprs: branch_jaxprs[0].out_avals)


def traced(function, *examples) -> ClosedJaxpr:
    return jax.make_jaxpr(function)(*examples)


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [
        (0, 5, 1),
        (0, 0, 1),
        (3, 1, 1),
        (1, 10, 3),
        (10, 0, -3),
        (0, 5, -1),
        (-(2**63), 2**63 - 1, 2**62),
        (2**63 - 1, -(2**63), -(2**63)),
    ],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_for_loop_is_range(compile_program, lower, upper, step, is_reversed):
    def body(factor, index, total, count):
        return total * factor + index, count + 1

    examples = [np.int64(3), *map(np.int64, (lower, upper, step)), np.int64(0), np.int64(0)]

    def program(factor, *rest):
        jaxpr = traced(body, factor, np.int64(0), *rest[3:])
        return for_loop_p.bind(
            factor, *rest, body_jaxpr=jaxpr, body_nconsts=1, preserve_dimensions=True,
            apply_reverse_transform=is_reversed,
        )  # fmt: skip

    total, count = 0, 0
    with np.errstate(over="ignore"):
        indices = range(lower, upper, step)
        for index in reversed(indices) if is_reversed else indices:
            total, count = np.int64(total) * np.int64(3) + np.int64(index), count + 1
    compiled = compile_program(Program("loop", traced(program, *examples)))
    found = compiled(*examples)
    assert [int(value) for value in found] == [int(total), count]


@pytest.mark.parametrize("last", [-(2**63) + 4, 9, 5000, 2**63 - 1])
@pytest.mark.parametrize("turns", [0, 3, 5000])
def test_short_loops_end_anywhere(compile_function, last, turns):
    """Such loops poll once in 4096 turns; there may be fewer before the last number there is."""
    if last - turns < -(2**63):
        turns = 2

    def count(start, end):
        return lax.while_loop(
            lambda carry: carry[0] < end,
            lambda carry: (carry[0] + 1, carry[1] + 1),
            (start, np.int64(0)),
        )

    compiled = compile_function(count, np.int64(0), np.int64(1))
    assert [int(value) for value in compiled(np.int64(last - turns), np.int64(last))] == [
        last,
        turns,
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("bounds", [(0, 3, 1), (1, 9, 3), (5, 5, 1), (7, 2, 1), (9, 0, -2)])
def test_for_loop_over_bounds_that_stand_in_the_program(dtype, bounds):
    if bounds[2] < 0 and np.issubdtype(dtype, np.unsignedinteger):
        pytest.skip("no such number")
    compiled = qjit(lambda x: for_loop(*map(dtype, bounds))(lambda i, s: 2 * s + i)(x))
    assert compiled(1.0) == functools.reduce(lambda s, i: 2 * s + i, range(*bounds), 1.0)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_more_iterations_than_fit_a_number(dtype):
    lower, upper = np.iinfo(dtype).min, np.iinfo(dtype).max

    def program(n):
        loop = for_loop(dtype(lower), dtype(upper), dtype(1))(lambda i, s: s + 1)
        return lax.cond(n > 0, lambda: 0, lambda: loop(0))

    assert qjit(program)(1) == 0


def counting(dtype, bounds):
    """A loop over a range of this index type that sums up its indices."""
    numbers = [np.dtype(dtype).type(bound) for bound in bounds]
    jaxpr = traced(lambda index, total: [total + index.astype(float)], numbers[0], 0.0)

    def program(*operands):
        return for_loop_p.bind(
            *operands, 0.0, body_jaxpr=jaxpr, body_nconsts=0, preserve_dimensions=True,
            apply_reverse_transform=False,
        )  # fmt: skip

    return Program("counting", traced(program, *numbers)), numbers


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint64"])
def test_for_loop_index_types(compile_program, dtype):
    limit = np.iinfo(dtype).max
    program, numbers = counting(dtype, (limit - 100, limit, 7))
    (total,) = compile_program(program)(*numbers)
    assert total == sum(float(index) for index in range(limit - 100, limit, 7))


def test_for_loop_step_of_zero_is_an_error(compile_program):
    program, numbers = counting("int64", (0, 5, 0))
    compiled = compile_program(program)
    with pytest.raises(DiastaseError, match="step"):
        compiled(*numbers)
    assert compiled(*map(np.int64, (0, 5, 2)))[0] == 6.0


def test_while_loop(compare):
    condition = traced(lambda limit, value: value < limit, 0.0, 0.0)
    body = traced(lambda factor, value: [value * factor], 0.0, 0.0)

    def ours(limit, factor, value):
        return while_loop_p.bind(
            limit, factor, value, cond_jaxpr=condition, body_jaxpr=body,
            cond_nconsts=1, body_nconsts=1, preserve_dimensions=True,
        )  # fmt: skip

    jaxpr = traced(ours, 0.0, 0.0, 0.0)
    assert len(jaxpr.eqns) == 1
    while_loop_p.def_impl(
        lambda limit, factor, value, **_: [
            lax.while_loop(lambda v: v < limit, lambda v: v * factor, value)
        ]
    )
    compare(ours, 100.0, 3.0, 1.5)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_switch(compile_program, index):
    branches = tuple(traced(lambda v, k=k: [v + k, v[::-1]], V) for k in range(3))
    jaxpr = traced(lambda i, v: switch_p.bind(i, v, branch_jaxprs=branches), np.int64(0), V)
    shifted, reverse = compile_program(Program("switch", jaxpr))(np.int64(index), V)
    np.testing.assert_array_equal(shifted, V + index)
    np.testing.assert_array_equal(reverse, V[::-1])


def test_a_branch_of_many_is_found_in_few_steps():
    """Each `scf.if` halves them: bufferization's time grows with a high power of the depth."""

    def program(index, v):
        return lax.switch(index, [lambda v, k=k: v * (k + 2) for k in range(13)], v)

    compiled = qjit(program)
    lines = compiled.lower(np.int64(0), V).as_text("scalarize").splitlines()
    indents = {len(line) - len(line.lstrip()) for line in lines if "scf.if" in line}
    assert len(indents) == 4
    for index in (-(10**12), -1, *range(15), 10**12):
        np.testing.assert_allclose(compiled(np.int64(index), V), program(index, V))


def test_scans_that_are_to_be_written_out_have_no_loop():
    """As `jnp.polyval` asks for; forwards, backwards, with and without rows."""

    def program(x, c):
        first = jax.lax.scan(lambda s, r: (s * 2 + r, s.sum()), c, x, unroll=8)
        second = jax.lax.scan(lambda s, r: (s + r[0], s), 0.0, x, unroll=True, reverse=True)
        third = jax.lax.scan(lambda s, _: (jnp.sin(s), None), c, None, length=3, unroll=3)
        return first, second, third, jnp.polyval(x[:, 0], c)

    def long(x):
        return jax.lax.scan(lambda s, r: (s + r, s * r), 0.0, x, unroll=40)

    x, c = np.arange(12.0).reshape(4, 3), np.ones(3)
    for function, arguments in ((program, (x, c)), (long, (np.arange(40.0),))):
        lowered = qjit(function).lower(*arguments)
        assert ("stablehlo.while" in lowered.as_text()) == (function is long)
        found = jax.tree.leaves(qjit(function)(*arguments))
        for one, other in zip(found, jax.tree.leaves(function(*arguments)), strict=True):
            np.testing.assert_allclose(one, other)


def test_a_hundred_branches_within_each_other():
    """As deep as JAX traces; Python's limit for recursion is there again afterwards."""

    def around(inner, depth, x):
        return lax.cond(x > -depth, inner, jnp.sin, x)

    function = jnp.exp
    for depth in range(100):
        function = functools.partial(around, function, depth)
    limit = sys.getrecursionlimit()
    np.testing.assert_allclose(qjit(function)(1.0), np.exp(1.0))
    assert sys.getrecursionlimit() == limit


def inner_loop(start, number, end):
    """A loop with nothing before it, inside of which a number of the block around is an array."""
    return lax.while_loop(
        lambda t: t.sum() < end, lambda t: t + jnp.broadcast_to(number, (3,)), start
    )


NUMBERS_AS_ARRAYS = {
    "carried by a loop": lambda c: lax.while_loop(
        lambda s: s[0].sum() < 9,
        lambda s: (inner_loop(s[0], s[1], 5.0) + 1, s[1] + 1),
        (jnp.zeros(3), c),
    )[0],
    "the counter of a loop": lambda c: lax.fori_loop(
        0, 4, lambda i, s: inner_loop(s, i * c, 5.0 * i) + i, jnp.zeros(3)
    ),
    "of a shared function": lambda c: sum(
        lax.cond(
            c > bound,
            lambda v: sum(jnp.sin(v + k) for k in range(10)) * jnp.broadcast_to(c, (3,)).cumsum(),
            lambda v: v,
            jnp.ones(3) * c,
        )
        for bound in (0.1, 0.2, 0.9)
    ),
    "in derivatives of branches": jax.grad(
        lambda c: sum(
            lax.cond(c > bound, lambda v: v.sum(), lambda v: v.prod(), jnp.arange(1.0, 6.0) * c)
            for bound in (0.1, 0.9)
        )
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", NUMBERS_AS_ARRAYS)
def test_numbers_that_are_arrays_inside_of_a_region(compile_function, name):
    function = NUMBERS_AS_ARRAYS[name]
    found = compile_function(function, np.float64(0.3))(np.float64(0.3))
    expected = jax.jit(function)(0.3)
    np.testing.assert_allclose(np.asarray(found[0]), expected, rtol=1e-12)
