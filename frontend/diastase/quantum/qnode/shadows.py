"""Classical shadows: each shot measures every wire in X, Y or Z, at random.

`classical_shadow` gives bits and recipes (0, 1, 2 for X, Y, Z), `shadow_expval` estimates
observables of them, by the median over `k` groups of the groups' means, as PennyLane does.

Recipes come from the program's random numbers, like outcomes: `qjit(seed=…)` makes both
reproducible. The `seed` of the measurement process, which PennyLane makes up where none is given,
is of no account: fixed recipes would be the same in every call of a compiled program.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pennylane.operation import Operator

from diastase.capture.control_flow.loops import trace_for_loop
from diastase.capture.pennylane_compat import describe
from diastase.capture.quantum_errors import UnsupportedMeasurementError, UnsupportedObservableError
from diastase.capture.regions import current_scope
from diastase.primitives.quantum import unitary_p
from diastase.primitives.sampling import sample_p, uniform_p
from diastase.quantum.observables.measured_forms import measured_form
from diastase.quantum.observables.terms import PauliSum
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.samples import Constant, Shots
from diastase.quantum.qnode.sampling_plan import Requests
from diastase.quantum.wires import Position, bind_on

_ROOT = np.sqrt(0.5)
_INTO_LETTERS = np.array(
    [
        [[_ROOT, _ROOT], [_ROOT, -_ROOT]],
        [[_ROOT, -1j * _ROOT], [-1j * _ROOT, _ROOT]],
        [[1, 0], [0, 1]],
    ]
)
"""For X, Y and Z: the rotation into its eigenbasis, the eigenvalue 1 first."""


def classical_shadow(process: Any, requests: Requests) -> Callable[[Shots], Any]:
    """Bits and recipes, `[2, shots, wires]`."""
    scope = requests.scope
    wires = scope.wires.positions(process.wires, "classical_shadow")
    requests.check(wires, "classical_shadow")
    number = requests.value(_snapshots(wires))
    return lambda shots: jnp.moveaxis(shots.values[number], 1, 0)


def shadow_expectation(process: Any, requests: Requests) -> Callable[[Shots], Any]:
    """Estimates of one observable, or of several from the same shadow."""
    single = isinstance(process.H, Operator)
    forms = [_words(each, requests) for each in ([process.H] if single else process.H)]
    wires = _wires(forms)
    number = requests.value(_snapshots(wires))
    coefficients = [requests.constant(form.coefficients, process.H) for form in forms]
    letters = [_letters(form, wires) for form in forms]

    def estimate(shots: Shots) -> Any:
        estimates = [
            _estimate(shots, number, constant, table, process.k)
            for constant, table in zip(coefficients, letters, strict=True)
        ]
        return estimates[0] if single else jnp.stack(estimates)

    return estimate


def _snapshots(wires: Sequence[Position]) -> Callable[[CircuitScope, Any, Any], Any]:
    """How so many shots of a shadow are drawn: `i8[shots, 2, wires]`."""

    def draw(scope: CircuitScope, shots: Any, count: Any) -> Any:
        def snapshot(index: Any, rows: Any) -> Any:
            row = _snapshot(_current_scope(scope), wires)
            return jax.lax.dynamic_update_index_in_dim(rows, row, index, 0)

        start = jnp.zeros((shots, 2, len(wires)), jnp.int8)
        with scope.recording():
            return trace_for_loop((0, count, 1), snapshot, (start,))

    return draw


def _snapshot(scope: CircuitScope, wires: Sequence[Position]) -> Any:
    """One shot: rotate each wire at random, draw, and rotate back."""
    uniforms = jnp.stack([uniform_p.bind() for _ in wires])
    recipes = jnp.minimum((3 * uniforms).astype(jnp.int64), 2)
    rotations = jnp.asarray(_INTO_LETTERS)[recipes]
    for rotation, wire in zip(rotations, wires, strict=True):
        scope.advance_on([wire], unitary_p, rotation, control_values=())
    packed = bind_on(sample_p, scope.register, wires, shots=1)
    for rotation, wire in zip(rotations, wires, strict=True):
        scope.advance_on([wire], unitary_p, jnp.conj(rotation).T, control_values=())
    shifts = np.arange(len(wires))[::-1]
    return jnp.stack([(packed >> shifts) & 1, recipes]).astype(jnp.int8)


def _current_scope(outer: CircuitScope) -> CircuitScope:
    """The scope of the loop's body."""
    scope = current_scope()
    assert isinstance(scope, CircuitScope)
    assert scope.circuit is outer.circuit
    return scope


# --- estimates -----------------------------------------------------------------------------------


def _words(observable: Any, requests: Requests) -> PauliSum:
    form = measured_form(observable, requests.scope.wires)
    if not isinstance(form, PauliSum):
        reason = "is no sum of Pauli words, of which shadows estimate"
        raise UnsupportedObservableError(observable=describe(observable), reason=reason)
    return form


def _wires(forms: Sequence[PauliSum]) -> tuple[int, ...]:
    """The wires of all words, each once; any wire will do where there are none."""
    wires = [wire for form in forms for word in form.words for _, wire in word]
    known = [wire for wire in wires if isinstance(wire, int)]
    if len(known) < len(wires):
        reason = "of an observable on traced wires is not compiled"
        raise UnsupportedMeasurementError(measurement="shadow_expval", reason=reason)
    return tuple(dict.fromkeys(known)) or (0,)


def _letters(form: PauliSum, wires: Sequence[int]) -> np.ndarray:
    """For each word, the recipe that it wants of each wire; -1 for any."""
    table = np.full((len(form.words), len(wires)), -1)
    for row, word in zip(table, form.words, strict=True):
        for letter, wire in word:
            assert isinstance(wire, int)
            row[wires.index(wire)] = "XYZ".index(letter)
    return table


def _estimate(shots: Shots, number: int, constant: Constant, table: np.ndarray, k: int) -> Any:
    """The sum of the words' medians of means."""
    snapshots = shots.values[number]
    bits, recipes = snapshots[:, 0], snapshots[:, 1]

    def word_estimate(letters: Any) -> Any:
        wanted = letters >= 0
        matches = jnp.all(~wanted | (recipes == letters), axis=1)
        parity = jnp.sum(jnp.where(wanted, bits, 0), axis=1) & 1
        scale = 3.0 ** jnp.sum(wanted)
        values = jnp.where(matches, (1.0 - 2.0 * parity) * scale, 0.0)
        return _median_of_means(values, k)

    estimates = jax.lax.map(word_estimate, jnp.asarray(table, jnp.int8))
    return jnp.dot(shots.constant(constant), estimates)


def _median_of_means(values: Any, k: int) -> Any:
    """The median of the means of `k` groups of (about) the same size."""
    if k == 1:
        return jnp.mean(values)
    size = values.shape[0]
    bounds = [size * group // k for group in range(k + 1)]
    return jnp.median(jnp.stack([jnp.mean(values[i:j]) for i, j in pairwise(bounds)]))
