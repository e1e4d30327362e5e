"""Updates that the compiler may do in place: nobody who still holds the old array sees them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import for_loop, qjit, while_loop

seen = []


def see(array):
    """Note what an array holds at this point of the program."""
    jax.debug.callback(lambda value: seen.append(np.asarray(value).tolist()), array, ordered=True)


def observed(function, *arguments):
    """Everything noted, and the results."""
    seen.clear()
    results = [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(function(*arguments))]
    jax.effects_barrier()
    return list(seen), results


def old_value_after_update(n):
    x = jnp.arange(4) * n
    see(x)
    y = x.at[0].set(100)
    see(y)
    see(x)
    return y


def old_value_after_update_in_loop(n):
    def body(i, x):
        see(x)
        y = x.at[i].add(100)
        see(y)
        see(x)
        return y

    return lax.fori_loop(0, 3, body, jnp.arange(4) * n)


def same_array_carried_twice_and_swapped(n):
    def body(i, pair):
        a, b = pair
        see(a)
        updated = a.at[i].add(100)
        see(updated)
        see(a)
        see(b)
        return b, updated

    x = jnp.arange(4) * n
    return lax.fori_loop(0, 4, body, (x, x))


def result_of_callback_updated(n):
    y = jax.pure_callback(lambda v: v * 2, jax.ShapeDtypeStruct((4,), jnp.int64), jnp.arange(4) * n)
    z = y.at[1].set(7)
    see(y)
    see(z)
    return jax.pure_callback(lambda v: v * 2, jax.ShapeDtypeStruct((4,), jnp.int64), y), z


def old_value_after_update_in_branch(n):
    x = jnp.arange(4) * n
    see(x)
    y = lax.cond(n > 2, lambda x: x.at[0].set(-1), lambda x: x, x)
    see(x)
    see(y)
    return y


def slice_before_update(n):
    x = jnp.arange(6) * n
    part = lax.dynamic_slice(x, (1,), (3,))
    see(part)
    y = x.at[2].set(55)
    see(part)
    see(x[1:4])
    return y


def carry_stacked_by_scan(n):
    def body(carry, _):
        see(carry)
        updated = carry.at[0].add(1)
        see(carry)
        return updated, (carry, updated)

    return lax.scan(body, jnp.arange(4) * n, None, length=3)


PROGRAMS = [
    old_value_after_update,
    old_value_after_update_in_loop,
    same_array_carried_twice_and_swapped,
    result_of_callback_updated,
    old_value_after_update_in_branch,
    slice_before_update,
    carry_stacked_by_scan,
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_callbacks_see_what_the_array_holds(program):
    compiled = qjit(program)
    for n in (1, 3):
        assert observed(compiled, n) == observed(jax.jit(program), n)


def exchanged_by_for_loop(n):
    a = jnp.arange(4) * n
    b = a + 10
    return for_loop(0, 3, 1)(lambda i, a, b: (b, a.at[i].set(-1)))(a, b), a, b


def exchanged_by_while_loop(n):
    a = jnp.arange(4) * n
    b = a + 10
    loop = while_loop(lambda i, a, b: i < 3)
    return loop(lambda i, a, b: (i + 1, b, a.at[i].set(-1)))(0, a, b), a, b


def chosen_then_updated(n):
    y = jnp.arange(4) * n
    z = y + 1
    w = lax.switch(n, [lambda y, z: y, lambda y, z: z, lambda y, z: y * z], y, z)
    return w.at[0].set(99), w, y, z


def choice_in_loop_updated(n):
    x = jnp.arange(6) * n

    def body(i, pair):
        x, y = pair
        z = lax.cond(i % 2 == 0, lambda x, y: x, lambda x, y: y, x, y)
        return z.at[i].set(100 + i), x

    return lax.fori_loop(0, 5, body, (x, x + 50))


def views_updated(n):
    y = jnp.arange(9) * n
    square = y.reshape(3, 3)
    updates = [square.T.at[0, 1].set(99), square.at[1].set(-1), y[::2].at[1].set(7)]
    return updates, y[::-1].at[0].set(-5), y[2:5].at[0].set(3), y, square


def updated_from_itself(n):
    x = jnp.arange(6) * n
    rotated = lax.fori_loop(0, 3, lambda i, x: x.at[1:].set(x[:-1]), x)
    return x.at[1:].add(x[:-1]), lax.dynamic_update_slice(x, x[:3], (n,)), rotated, x


def read_by_condition(n):
    x = jnp.arange(6) * n

    def body(carry):
        x, i, _ = carry
        return x.at[i % 6].add(7), i + 1, x

    return lax.while_loop(lambda carry: carry[0].sum() < 100, body, (x, 0, x))


WITHOUT_CALLBACKS = [
    exchanged_by_for_loop,
    exchanged_by_while_loop,
    chosen_then_updated,
    choice_in_loop_updated,
    views_updated,
    updated_from_itself,
    read_by_condition,
]


@pytest.mark.sample(2)
@pytest.mark.parametrize("program", WITHOUT_CALLBACKS, ids=lambda program: program.__name__)
def test_old_values_remain(program):
    compiled = qjit(program)
    for n in (0, 1, 2):
        assert observed(compiled, n) == observed(program, n)
