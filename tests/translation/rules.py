"""What the equations of circuits mean: rules on NumPy states, by the names of primitives.

Operands and parameters are those that `diastase.primitives` documents; nothing else of it is used.
A preparation is the linear map |amplitudes><0...0|, and shots are not drawn, but made of the
distribution, so that both sides of a comparison have the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from translation.classical import Skip
from translation.registers import PAULIS, Applied, Register, gate_matrix
from translation.runs import MOST_STEPS, Rule, Run, released

_NO_WIRE = 1 << 19
"""Wires from here on are those of derivatives."""

_NESTED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "inlined": "jaxpr",
           "custom_jvp_call": "call_jaxpr", "qnode": "jaxpr"}  # fmt: skip
_CHECKS = frozenset({"assert_shots", "assert_size", "assume", "require"})


def wires_of(given: Sequence[int | None], operands: Sequence[Any]) -> list[int]:
    """All wires; operands are those that are computed."""
    rest = iter(operands)
    wires = [int(next(rest)) if wire is None else wire for wire in given]
    if any(wire > _NO_WIRE for wire in wires):
        raise Skip("derivative wires")
    return wires


def _nested(name: str, run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    if params.get("mapped") is not None and any(np.ravel(params["mapped"])):
        raise Skip("batch")
    return run.jaxpr(params[name], operands)


def _allocate(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    if params.get("derivative_wires"):
        raise Skip("derivative wires")
    count = params["num_wires"]
    wires = int(operands[0]) if count is None else count
    if wires < 1:
        raise Skip("no wires")
    return [run.start.register(wires, bool(params.get("mixed")))]


def _release(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    run.released.append(operands[0])
    return []


def _gate(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, count = operands[0], params["num_parameters"]
    wires = wires_of(params["wires"], operands[1 + count :])
    controls = params["control_values"]
    parameters = [float(value) for value in operands[1 : 1 + count]]
    matrix = gate_matrix(params["name"], parameters, len(wires) - len(controls))
    return [register.apply(matrix, wires, controls)]


def _by_matrix(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, array, *rest = operands
    matrix = np.diag(array) if array.ndim == 1 else np.asarray(array)
    return [register.apply(matrix, wires_of(params["wires"], rest), params["control_values"])]


def _prepare(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    """As a linear map: |amplitudes><0...0|."""
    register, amplitudes, *rest = operands
    matrix = np.zeros((len(amplitudes),) * 2, complex)
    matrix[:, 0] = amplitudes
    return [register.apply(matrix, wires_of(params["wires"], rest))]


def _global_phase(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, phase = operands
    return [register.scaled(np.exp(-1j * phase))]


def _check_wires(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, *rest = operands
    register.checked(wires_of(params["wires"], rest))
    return [register]


def _measure(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, *rest = operands
    wires, word = wires_of(params["wires"], rest), params["word"]
    found = [register.projected(word, wires, outcome) for outcome in (0, 1)]
    if params["postselect"] is not None:
        found[1 - params["postselect"]] = register.scaled(0)
    outcome, left = run.choose(found, register.weight)
    if params["reset"]:
        left = left.apply(_to_zero(word, outcome), wires)
    return [left, np.asarray(bool(outcome))]


def _to_zero(word: str, outcome: int) -> np.ndarray:
    """|0> of the eigenvector that was found."""
    values, vectors = np.linalg.eigh(PAULIS[word])
    vector = vectors[:, int(np.argmin(np.abs(values - (-1) ** outcome)))]
    first = vector[np.argmax(np.abs(vector) > 0.1)]  # of the eigenvectors' phases, one for all
    return np.outer([1, 0], (vector * abs(first) / first).conj())


def _kraus(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, matrices, *rest = operands
    wires = wires_of(params["wires"], rest)
    drawn = [register.apply(np.asarray(matrix), wires) for matrix in matrices]
    return [run.choose(drawn, register.weight)[1]]


def _superoperator(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, matrix, *rest = operands
    return [register.channel(np.asarray(matrix), wires_of(params["wires"], rest))]


def _replace(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, matrix, *rest = operands
    return [register.replaced(np.asarray(matrix), wires_of(params["wires"], rest))]


# --- measurements --------------------------------------------------------------------------------


def _words(params: Any, operands: list[Any]) -> tuple[Register, Applied]:
    register, coefficients, *rest = operands
    given = iter(rest)
    terms = []
    for coefficient, word in zip(np.ravel(coefficients), params["words"], strict=True):
        factors = []
        for letter, wire in word:
            wires = wires_of([wire], [next(given)] if wire is None else [])
            register.checked(wires)
            factors.append((PAULIS[letter], wires))
        terms.append((coefficient, factors))
    return register, Applied(terms)


def _of_matrix(params: Any, operands: list[Any]) -> tuple[Register, Applied]:
    register, matrix, *rest = operands
    wires = wires_of(params["wires"], rest)
    register.checked(wires)
    return register, Applied([(1.0, [(np.asarray(matrix), wires)])])


def _expectation(run: Run, register: Register, observable: Applied) -> Sequence[Any]:
    return [np.asarray(register.expectation(observable))]


def _variance(run: Run, register: Register, observable: Applied) -> Sequence[Any]:
    mean = register.expectation(observable)
    return [np.asarray(register.expectation(observable.squared()) - mean**2)]


def _squared(run: Run, register: Register, observable: Applied) -> Sequence[Any]:
    return [np.asarray(register.expectation(observable.squared()))]


def _probs(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, *rest = operands
    wires = wires_of(params["wires"], rest) or list(range(register.wires))
    return [register.probabilities(wires)]


def _sample(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    """Of the distribution, but not drawn: equal distributions give equal shots."""
    (probabilities,) = _probs(run, params, operands)
    shots = params["shots"]
    if type(shots) is not int:
        raise Skip("dynamic sizes")
    drawn = (np.arange(shots) + 0.377) / max(shots, 1)
    return [np.searchsorted(np.cumsum(probabilities), drawn).astype(np.int64)]


def _state(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    (register,) = operands
    if type(params["size"]) is not int:
        raise Skip("dynamic sizes")
    if register.mixed:
        return [register.density() / register.divisor]
    state = register.state.reshape(-1) / np.sqrt(register.divisor)
    if not run.exact:
        own = np.ravel(released(register, run.start).state)
        overlap = _direction(len(own)) @ own
        state = state * (abs(overlap) / overlap)
    return [state]


def _direction(size: int) -> np.ndarray:
    """A vector that no state is orthogonal to, but by chance."""
    random = np.random.default_rng(size)
    return random.normal(size=size) + 1j * random.normal(size=size)


def _density_matrix(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    register, *rest = operands
    return [register.reduced(wires_of(params["wires"], rest)) / register.divisor]


# --- control flow --------------------------------------------------------------------------------


def _for_loop(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    count = params["body_nconsts"]
    constants, bounds = operands[:count], operands[count : count + 3]
    lower, upper, step = (int(bound) for bound in bounds)
    if step == 0:
        raise Skip("a loop that never ends")
    carry = operands[count + 3 :]
    for index in range(lower, upper, step):
        given = np.asarray(index, bounds[0].dtype)
        carry = run.jaxpr(params["body_jaxpr"], [*constants, given, *carry])
    return carry


def _while_loop(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    first, second = params["cond_nconsts"], params["body_nconsts"]
    of_condition, constants = operands[:first], operands[first : first + second]
    carry = operands[first + second :]
    while run.jaxpr(params["cond_jaxpr"], [*of_condition, *carry])[0]:
        run.steps += 1
        if run.steps > MOST_STEPS:
            raise Skip("long")
        carry = run.jaxpr(params["body_jaxpr"], [*constants, *carry])
    return carry


def _switch(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    branches, (position, *rest) = params["branch_jaxprs"], operands
    return run.jaxpr(branches[min(max(int(position), 0), len(branches) - 1)], rest)


# --- runs of gates -------------------------------------------------------------------------------


def _operations(run: Run, params: Any, operands: list[Any]) -> Sequence[Any]:
    """One equation for many operations: each takes its parameters from their places."""
    register, *vectors = operands
    numbers = [_real_numbers(vector) for vector in vectors]
    places = zip(params["places"].operands, params["places"].elements, strict=True)
    for equation in params["operations"]:
        given = [_parameter(atom, places, numbers) for atom in parameters_of(equation)]
        rest = equation.invars[1 + len(given) :]
        if not all(hasattr(atom, "val") for atom in rest):
            raise Skip("reads what is no longer computed")
        (register,) = run.evaluated(
            equation, [register, *given, *(np.asarray(atom.val) for atom in rest)]
        )
    return [register]


def parameters_of(equation: Any) -> Sequence[Any]:
    """The operands of an operation that are numbers or arrays of such."""
    name, params = equation.primitive.name, equation.params
    if name == "gate":
        return equation.invars[1 : 1 + params["num_parameters"]]
    if name == "global_phase":
        return equation.invars[1:2]
    if params.get("differentiated"):
        return equation.invars[1:2]
    raise Skip(f"primitive {name} in a run")


def _parameter(atom: Any, places: Iterator[tuple[int, int]], numbers: Sequence[Any]) -> Any:
    dtype, shape = atom.aval.dtype, atom.aval.shape
    is_complex = np.issubdtype(dtype, np.complexfloating)
    size = int(np.prod(shape)) * (1 + is_complex)
    found = [next(places) for _ in range(size)]
    if hasattr(atom, "val"):
        return np.asarray(atom.val)
    if any(operand < 0 for operand, _ in found):
        raise Skip("a parameter without a place")
    flat = np.array([numbers[operand][element] for operand, element in found])
    flat = flat.view(np.complex128) if is_complex else flat
    return flat.reshape(shape).astype(dtype)


def _real_numbers(value: Any) -> np.ndarray:
    flat = np.ascontiguousarray(np.ravel(value))
    return flat.view(np.float64) if flat.dtype == np.complex128 else flat


RULES: Mapping[str, Rule] = {
    **{
        name: partial(_nested, inner) for name, inner in _NESTED.items()
    },
    **dict.fromkeys(_CHECKS, lambda run, params, operands: []),
    "allocate_qubits": _allocate, "release_qubits": _release, "gate": _gate,
    "unitary": _by_matrix, "diagonal": _by_matrix, "prepare": _prepare,
    "global_phase": _global_phase, "check_wires": _check_wires, "measure": _measure,
    "kraus": _kraus, "superoperator": _superoperator, "replace": _replace,
    "follow_script": lambda run, params, operands: [operands[0]],
    "expval_pauli": lambda run, p, o: _expectation(run, *_words(p, o)),
    "var_pauli": lambda run, p, o: _variance(run, *_words(p, o)),
    "square_pauli": lambda run, p, o: _squared(run, *_words(p, o)),
    "expval_matrix": lambda run, p, o: _expectation(run, *_of_matrix(p, o)),
    "var_matrix": lambda run, p, o: _variance(run, *_of_matrix(p, o)),
    "probs": _probs, "sample": _sample, "state": _state, "density_matrix": _density_matrix,
    "for_loop": _for_loop, "while_loop": _while_loop, "switch": _switch,
    "operations": _operations,
}  # fmt: skip
