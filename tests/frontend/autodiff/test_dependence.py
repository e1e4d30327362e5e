"""What depends on what: forwards into loops and branches, backwards to what results need."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import cond, for_loop, grad, qjit, while_loop
from diastase.capture.context import new_context
from diastase.jaxprs.dependence import active_results, without_unread
from diastase_mlir.jax_compat import needed_equations, settled


def loops_in_loops(x, y, n):
    """The first result is made of `x` after two turns of the inner loop, the second of `y` only."""

    @for_loop(0, n, 1)
    def outer(_, z, w):
        @for_loop(0, 3, 1)
        def inner(_, a, b, c):
            return b, c, jnp.sin(c)

        return inner(z, z, x)[0], w * y

    return outer(1.0, 1.0)


def branches_in_a_while_loop(x, y, n):
    """The condition reads all; what is carried goes its own way in both branches."""

    @while_loop(lambda k, a, b: (k < n) & (a + b < 1e9))
    def loop(k, a, b):
        @cond(a > k)
        def branch():
            return a * x, b

        @branch.otherwise
        def branch():
            return a, b + y

        return k + 1, *branch()

    return loop(0, 1.0, 1.0)[1:]


PROGRAMS = [loops_in_loops, branches_in_a_while_loop]


@pytest.mark.parametrize("function", PROGRAMS)
def test_results_depend_on_what_they_are_computed_of(function):
    closed = qjit(function).lower(1.1, 1.2, 3).traced.program.jaxpr
    assert active_results(closed, [0]) == {0}
    assert active_results(closed, [1]) == {1}
    assert active_results(closed, [0, 1]) == {0, 1}
    assert active_results(closed, [2]) == set()  # an integer
    assert active_results(closed, []) == set()


@pytest.mark.sample(2)
@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("argnum", [0, 1])
def test_derivatives_of_all_results_by_each_argument(function, argnum):
    def difference(x, y, step=1e-6):
        low, high = [x, y], [x, y]
        low[argnum], high[argnum] = low[argnum] - step, high[argnum] + step
        pairs = zip(compiled(*high, 3), compiled(*low, 3), strict=True)
        return [(up - down) / (2 * step) for up, down in pairs]

    compiled = qjit(function)
    for place in range(2):
        slope = qjit(grad(lambda x, y, n: function(x, y, n)[place], argnums=argnum))  # noqa: B023
        np.testing.assert_allclose(
            slope(1.1, 1.2, 3), difference(1.1, 1.2)[place], atol=1e-7, err_msg=str(place)
        )


def test_what_nobody_reads_is_left_out_with_its_inputs():
    def function(x, y):
        unread = jnp.exp(y)
        return jnp.sin(x), unread + 1.0

    closed = jax.make_jaxpr(function)(1.0, 2.0)
    with new_context(None):
        pruned, inputs = without_unread(closed, [0])
    assert inputs == [0]
    assert [equation.primitive.name for equation in pruned.jaxpr.eqns] == ["sin"]
    kept, read = needed_equations(
        closed.jaxpr.eqns, closed.jaxpr.outvars[:1], lambda e: e.primitive.name == "exp"
    )
    assert [equation.primitive.name for equation in kept] == ["exp", "sin"]
    assert set(closed.jaxpr.invars) <= read


def test_a_turn_is_repeated_until_it_changes_nothing():
    seen = []

    def turn(known):
        seen.append(known)
        return known | {min(each + 1, 3) for each in known}, len(known)

    assert settled({0}, turn) == ({0, 1, 2, 3}, 4)
    assert len(seen) == 4
