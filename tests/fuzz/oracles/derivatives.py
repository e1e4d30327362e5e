"""Derivatives: going back and along, of circuits by each method, and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

import diastase
from diastase import qjit
from fuzz import grammar
from fuzz.gates import MEASUREMENTS
from fuzz.judging import SEED, Unstable, Wrong, difference, oracle
from fuzz.programs import Style, qnode, random_state, run

ADJOINT = Style(options={"diff_method": "adjoint"})


def _sum(program, style):
    """One number of all that a program computes of its vectors and its matrix."""

    def function(arrays, state):
        v, m, w = arrays
        result = run(program, state._replace(v=v, m=m, w=w), style)
        weights = jnp.arange(1.0, result.v.shape[0] + 1)
        vectors = ((result.v - result.w / 2) * weights).sum()
        return vectors + (result.m * weights).sum() / 4 + result.c.real.sum()

    return function


@oracle(program=grammar.SMOOTH_ARRAYS, seed=SEED)
def derivatives_of_arrays(program, seed):
    """Of programs without circuits."""
    _derivatives_agree(program, seed)


@oracle(program=grammar.DIFFERENTIABLE, seed=SEED)
def derivatives(program, seed):
    """Gradient, derivative along a direction and finite differences; of circuits by adjoint."""
    _derivatives_agree(program, seed)


@oracle(gates=grammar.NOISY, measured=st.sampled_from(sorted(MEASUREMENTS)), seed=SEED)
def derivatives_of_noise(gates, measured, seed):
    """Of a circuit with channels, or of one without on a density matrix."""
    style = Style(device="default.mixed")
    _derivatives_agree([["circuit", gates, measured]], seed, style)


def _derivatives_agree(program, seed, style=ADJOINT):
    state, other = random_state(seed), random_state(seed + 1)
    arrays, direction = (state.v, state.m, state.w), (other.v, other.m, other.w)
    function = _sum(program, style)

    @qjit
    def found(arrays, state):
        gradient = diastase.grad(lambda given: function(given, state))(arrays)
        value, along = jax.jvp(lambda given: function(given, state), (arrays,), (direction,))
        back = sum((a * b).sum() for a, b in zip(gradient, direction, strict=True))
        return value, back, along

    _, backward, forward = found(arrays, state)
    if difference(backward, forward) > 1e-7:
        raise Wrong(f"gradient: {backward}, jvp: {forward}")

    def slope(step):
        moved = [
            tuple(a + sign * step * b for a, b in zip(arrays, direction, strict=True))
            for sign in (1, -1)
        ]
        ahead, behind = (found(given, state)[0] for given in moved)
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
