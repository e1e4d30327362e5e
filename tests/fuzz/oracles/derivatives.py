"""Derivatives: going back and along, of circuits by each method, and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

import diastase
from diastase import qjit
from fuzz import grammar
from fuzz.judging import SEED, Unstable, Wrong, difference, oracle
from fuzz.programs import Style, qnode, random_state, run


def _sum(program, style):
    """One number of all that a program computes of its vector."""

    def function(v, state):
        result = run(program, state._replace(v=v), style)
        weights = jnp.arange(1.0, result.v.shape[0] + 1)
        vectors = ((result.v - result.w / 2) * weights).sum()
        return vectors + (result.m * weights).sum() / 4 + result.c.real.sum()

    return function


@oracle(program=grammar.DIFFERENTIABLE, seed=SEED)
def derivatives(program, seed):
    """Gradient, derivative along a direction and finite differences; of circuits by adjoint."""
    state = random_state(seed)
    direction = random_state(seed + 1).v
    function = _sum(program, Style(options={"diff_method": "adjoint"}))

    @qjit
    def both(v, state):
        gradient = diastase.grad(lambda v: function(v, state))(v)
        along = jax.jvp(lambda v: function(v, state), (v,), (direction,))[1]
        return gradient @ direction, along

    backward, forward = both(state.v, state)
    if difference(backward, forward) > 1e-7:
        raise Wrong(f"gradient: {backward}, jvp: {forward}")
    value = qjit(function)

    def slope(step):
        ahead, behind = (value(state.v + sign * step * direction, state) for sign in (1, -1))
        return float((ahead - behind) / (2 * step))

    fine, coarse = slope(1e-5), slope(2e-5)
    if abs(fine - coarse) > 1e-4 * max(1.0, abs(fine)):
        raise Unstable
    if difference(backward, np.asarray(fine)) > 1e-4:
        raise Wrong(f"gradient: {backward}, finite differences: {fine}")


@oracle(
    gates=grammar.UNITARY,
    measured=st.sampled_from(["word", "sum", "probabilities"]),
    method=st.sampled_from(["parameter-shift", "finite-diff"]),
    seed=SEED,
)
def derivative_methods(gates, measured, method, seed):
    state = random_state(seed)

    def jacobian(method):
        circuit = qnode(gates, measured, Style(options={"diff_method": method}))
        return qjit(lambda v: diastase.jacobian(lambda v: circuit(v, 0))(v))(state.v)

    found, expected = jacobian(method), jacobian("adjoint")
    if difference(found, expected) > (1e-3 if method == "finite-diff" else 1e-7):
        raise Wrong(f"{method}: {found}\nadjoint: {expected}")
