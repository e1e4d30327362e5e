"""`outline_parts`, `inline_parts`: long chains of operations on arrays, bufferized in parts.

What must hold whatever the cuts are: answers, and that an array is written in place.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import debug, qjit
from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.parts.inline_parts import inline_parts
from diastase_mlir.passes.parts.outline_parts import (
    MOST_OPERATIONS,
    OPERATIONS_OF_A_PART,
    outline_parts,
)

UPDATES = MOST_OPERATIONS + 2 * OPERATIONS_OF_A_PART + 3
SIZE = 3 * UPDATES


def set_one(a, x, j):
    for number in range(UPDATES):
        a = a.at[number].set(x * number)
    return a


def add_one(a, x, j):
    for number in range(UPDATES):
        a = a.at[number // 2].add(jnp.sin(x * number))
    return a


def set_traced(a, x, j):
    for number in range(UPDATES):
        a = a.at[j + number].set(a[number] + x)
    return a


def set_slices(a, x, j):
    for number in range(UPDATES):
        a = a.at[2 * number : 2 * number + 3].set(x * number)
    return a


def slices_at_traced_places(a, x, j):
    for number in range(UPDATES):
        a = jax.lax.dynamic_update_slice(a, jnp.full(2, x * number), (j + number,))
    return a


def scattered(a, x, j):
    for number in range(UPDATES):
        a = a.at[j + jnp.arange(3) + number].add(x * number)
    return a


def several_in_turn(a, x, j):
    arrays = [a, a + 1, a * 2]
    for number in range(UPDATES):
        here = number % 3
        arrays[here] = arrays[here].at[number].set(x * number + arrays[here - 1][number // 2])
    return arrays


def the_old_one_is_read(a, x, j):
    first = a
    for number in range(UPDATES):
        a = a.at[number].set(first[number + 1] * x)
        if number == UPDATES // 2:
            first = a
    return a, first


def in_a_loop(a, x, j):
    def body(turn, a):
        return set_one(a, x + turn + a[j], j)

    return jax.lax.fori_loop(0, 4, body, a)


def in_a_loop_that_stops(a, x, j):
    def body(state):
        turn, a = state
        return turn + 1, add_one(a, x + turn, j)

    return jax.lax.while_loop(lambda state: state[0] < j, body, (0, a))


def in_branches(a, x, j):
    return jax.lax.cond(x > 1, set_one, add_one, a, x, j)


def differentiated(a, x, j):
    return jax.grad(lambda x: jnp.sum(set_one(a, jnp.sin(x), j) ** 2))(x)


def slices_of_old_values(a, x, j):
    """Views that are used in other parts than those which make them."""
    head = a[1:-1]
    for number in range(UPDATES):
        a = a.at[number].set(head[number] * x + jnp.sum(head))
    return a, head


def chain(a, x, j):
    kept = []
    for number in range(UPDATES):
        a = jnp.sin(a) * 0.5 + jnp.tanh(a.sum()) * 0.1 + x
        a = jnp.concatenate([a[1:], a[:1] * 0.1])
        if number % 7 == 0:
            a = jnp.cumsum(jnp.sort(a)) / SIZE
            kept.append(a)
    return a, kept


UPDATES_IN_PLACE = [
    set_one, add_one, set_traced, set_slices, slices_at_traced_places, scattered, several_in_turn,
    in_a_loop,
]  # fmt: skip
OTHERS = [
    the_old_one_is_read, in_a_loop_that_stops, in_branches, differentiated, slices_of_old_values,
    chain,
]  # fmt: skip
ARGUMENTS = np.linspace(-1.0, 2.0, SIZE), 1.25, 3


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [*UPDATES_IN_PLACE, *OTHERS])
def test_answers_are_jaxs(function, dynamic):
    compiled = qjit(function, abstracted_axes=({0: "n"}, {}, {})) if dynamic else qjit(function)
    kept = ARGUMENTS[0].copy()
    found = jax.tree.leaves(compiled(*ARGUMENTS))
    array, x, j = ARGUMENTS
    expected = jax.tree.leaves(function(jnp.asarray(array), x, j))
    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(array, kept)


@pytest.mark.parametrize("function", UPDATES_IN_PLACE)
def test_the_array_is_not_copied_for_updates(function):
    """Once for each array that changes, as arguments do not, and results are not arguments."""
    compiled = qjit(function)
    compiled(*ARGUMENTS)
    text = debug.get_compilation_stage(compiled, "deallocate")
    allocated = re.findall(rf"memref\.alloc\(\).*memref<{SIZE}xf64>", text)
    assert 1 <= len(allocated) <= 3
    assert ".part" not in text


def test_parts_of_parts():
    """However long a block is, no function of its parts is."""
    updates = "\n".join(
        f"%a{n + 1} = tensor.insert %x into %a{n}[%i] : tensor<?xf64>" for n in range(3000)
    )
    text = f"""
        func.func @f(%a0: tensor<?xf64>, %x: f64, %i: index) -> tensor<?xf64> {{
          {updates}
          return %a3000 : tensor<?xf64>
        }}"""
    with session():
        module = parse(text.encode())
        before = str(module)
        outline_parts(module)
        assert module.operation.verify()
        for function in module.body.operations:
            assert len(list(function.body.blocks[0])) <= MOST_OPERATIONS + 2
        names = [ir.StringAttr(f.attributes["sym_name"]).value for f in module.body.operations]
        assert len(names) > 3000 // OPERATIONS_OF_A_PART
        inline_parts(module)
        assert str(module) == before


def test_short_blocks_stay():
    text = b"""
        func.func @f(%a: tensor<9xf64>, %x: f64, %i: index) -> tensor<9xf64> {
          %b = tensor.insert %x into %a[%i] : tensor<9xf64>
          %c = tensor.insert %x into %b[%i] : tensor<9xf64>
          return %c : tensor<9xf64>
        }"""
    with session():
        module = parse(text)
        before = str(module)
        outline_parts(module)
        assert str(module) == before
