"""Loops and branches: in sequence, nested, with many operations or many branches."""

import functools

import jax
import jax.numpy as jnp

from diastase import cond, for_loop, run_autograph, switch, while_loop
from families import family


@family(50)
def loops_in_sequence(k):
    def program(x, n):
        for i in range(k):
            x = for_loop(0, n, 1)(lambda j, x, i=i: x * (1 + i) + j)(x)
        return x

    return program, 0.3, 3


@family(50)
def loops_of_arrays_in_sequence(k):
    def program(a, n):
        for i in range(k):
            a = for_loop(0, n, 1)(lambda j, a, i=i: jnp.sin(a) * (1 + i) + j)(a)
        return a

    return program, jnp.linspace(0.0, 1.0, 4), 3


@family(6)
def loops_nested(k):
    def nested(x, depth):
        if depth == 0:
            return x * 1.1
        return for_loop(0, 1, 1)(lambda j, x: nested(x + j, depth - 1))(x)

    return lambda x: nested(x, k), 0.3


@family(6)
def loops_of_arrays_nested(k):
    def nested(a, n, depth):
        if depth == 0:
            return jnp.sin(a)
        return for_loop(0, n, 1)(lambda j, a: nested(a + j, n, depth - 1))(a)

    return lambda a, n: nested(a, n, k), jnp.linspace(0.0, 1.0, 4), 1


@family(50)
def while_loops_in_sequence(k):
    def program(x):
        for i in range(k):
            x = while_loop(lambda x, i=i: x < 10 * i)(lambda x: x * 2)(x)
        return x

    return program, 0.3


@family(50)
def scans_in_sequence(k):
    def program(a):
        total = a[0]
        for i in range(k):
            total, a = jax.lax.scan(lambda c, x, i=i: (c * 0.5 + x, jnp.sin(c) + i), total, a)
        return a

    return program, jnp.linspace(0.0, 1.0, 4)


@family(50)
def array_operations_in_a_loop(k):
    def program(a, n):
        def body(j, a):
            for i in range(k):
                a = jnp.sin(a) * (1 + i) + jnp.sum(a) * j
            return a

        return for_loop(0, n, 1)(body)(a)

    return program, jnp.linspace(0.0, 1.0, 4), 3


@family(50)
def values_carried_by_a_loop(k):
    def program(x, n):
        values = for_loop(0, n, 1)(lambda j, *v: tuple(u * 1.1 + j for u in v[1:] + v[:1]))(
            *(x * i for i in range(k))
        )
        return sum(values)

    return program, 0.3, 3


@family(50)
def arrays_carried_by_a_loop(k):
    def program(a, n):
        values = for_loop(0, n, 1)(lambda j, *v: tuple(u * 1.1 + j for u in v[1:] + v[:1]))(
            *(a * i for i in range(k))
        )
        return sum(values)

    return program, jnp.linspace(0.0, 1.0, 4), 3


def either(condition, one, other, *values):
    branches = cond(condition)(one)
    branches.otherwise(other)
    return branches(*values)


@family(50)
def branches_in_sequence(k):
    def program(x):
        for i in range(k):
            x = either(x > i, lambda x=x: x * 2.0, lambda x=x, i=i: x + 1.0 + i)
        return x

    return program, 0.3


@family(50)
def branches_of_arrays_in_sequence(k):
    def program(a):
        for i in range(k):
            a = either(a[0] > i, lambda a=a: jnp.sin(a), lambda a=a, i=i: a + 1.0 + i)
        return a

    return program, jnp.linspace(0.0, 1.0, 4)


@family(8)
def branches_nested(k):
    def nested(x, depth):
        if depth == 0:
            return x
        return either(x > depth, lambda: nested(x * 2.0, depth - 1), lambda: x + 1.0)

    return lambda x: nested(x, k), 0.3


@family(30)
def branches_of_one_conditional(k):
    def program(x):
        chosen = cond(x > 1000.0)(lambda: x * 2.0)
        for i in range(k):
            chosen.else_if(x > i)(lambda i=i: x * x + i)
        chosen.otherwise(lambda: x)
        return chosen()

    return program, 0.3


@family(50)
def branches_of_a_switch(k):
    def program(n, x):
        chosen = switch(n)(lambda x: x)
        for i in range(k):
            chosen.branch(i)(lambda x, i=i: jnp.sin(x) * i)
        return chosen(x)

    return program, 3, 0.3


@family(50)
def branches_of_a_switch_of_arrays(k):
    def program(n, a):
        return jax.lax.switch(n, [lambda a, i=i: jnp.sin(a) * i for i in range(k)], a)

    return program, 3, jnp.linspace(0.0, 1.0, 4)


@family(50)
def statements_that_autograph_converts(k):
    @run_autograph
    def step(x, i):
        if x > i:
            x = x * 2.0
        else:
            x = x + i
        return x

    return lambda x: functools.reduce(step, range(k), x), 0.3
