"""An interpreter of circuits' equations, on numbers that are given: the reference of the checks.

`Run.equations` evaluates equations in order: quantum ones on NumPy states (`registers`), loops,
branches and classical ones on what their operands are. Where something is drawn, an outcome or a
Kraus operator, a script says which; what it says nothing of is the first that may be, and the other
possibilities are noted, so that `all_runs` goes through all of them.

What cannot be interpreted raises `Skip`, with the reason.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diastase_mlir.jax_compat import eager
from translation.classical import EVALUATED
from translation.registers import (
    PAULIS,
    Applied,
    Register,
    gate_matrix,
    ground_state,
    of_first_wires,
    random_state,
    with_more_wires,
)

MOST_WIRES = 10
MOST_MIXED_WIRES = 5
MOST_STEPS = 6000
"""Equations that one run may evaluate."""
MOST_RUNS = 64
_LIKELY = 1e-12
DERIVATIVE_WIRE = 1 << 20
_LIMIT = 1 << 19


class Skip(Exception):
    """Why something cannot be checked."""


class TooManyRuns(Skip):
    """There are more outcomes than can be gone through."""

    def __init__(self) -> None:
        super().__init__("many outcomes")


class NoRun(Exception):
    """An outcome was asked for that cannot be."""


@dataclass
class Start:
    """What circuits start from: the same for all runs of both sides."""

    seed: int
    ground: bool
    """Whether the register is in |0>, as when the program runs; else in a random state."""
    wires: int | None = None
    """How many wires the register has on the side that was run first."""

    def register(self, wires: int, mixed: bool) -> Register:
        """A new register; wires that a pass has added are in |0>."""
        most = MOST_MIXED_WIRES if mixed else MOST_WIRES
        if wires > most + 2:
            raise Skip(f"more than {most} wires")
        if self.wires is None:
            self.wires = wires
        own = min(self.wires, wires)
        if self.ground:
            return ground_state(wires, mixed)
        random = np.random.default_rng([self.seed, own])
        return with_more_wires(random_state(random, own, mixed), wires - own)


@dataclass
class Run:
    """One run, and what it has found."""

    start: Start
    script: Sequence[int] = ()
    chosen: list[int] = field(default_factory=list)
    others: list[list[int]] = field(default_factory=list)
    """Scripts of runs that differ from this one in the last choice, all of those after its own."""
    released: list[Register] = field(default_factory=list)
    steps: int = 0
    exact: bool = True
    """Whether the state's global phase is what it is, not one that is taken for all alike."""
    random: np.random.Generator | None = None
    """What chooses where the script does not."""

    # --- equations -------------------------------------------------------------------------------

    def equations(self, equations: Sequence[Any], values: dict[Any, Any]) -> None:
        """Evaluate equations; what they define goes into `values`."""
        for equation in equations:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise Skip("long")
            operands = [_value(atom, values) for atom in equation.invars]
            results = self._evaluated(equation, operands)
            for variable, result in zip(equation.outvars, results, strict=True):
                values[variable] = result

    def jaxpr(self, closed: Any, operands: Sequence[Any]) -> list[Any]:
        """Evaluate a jaxpr; its results."""
        jaxpr = closed.jaxpr
        values = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        values |= dict(zip(jaxpr.invars, operands, strict=True))
        self.equations(jaxpr.eqns, values)
        return [_value(atom, values) for atom in jaxpr.outvars]

    def _evaluated(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        name = equation.primitive.name
        rule = _RULES.get(name)
        if rule is not None:
            return rule(self, equation.params, operands)
        if any(isinstance(operand, Register) for operand in operands):
            raise Skip(f"primitive {name}")
        return _classical(equation, operands)

    # --- choices ---------------------------------------------------------------------------------

    def choose(self, states: Sequence[Register], total: float) -> tuple[int, Register]:
        """One of several states, of which those that cannot be are left out."""
        possible = [n for n, state in enumerate(states) if state.weight > _LIKELY * total]
        if not possible:
            raise NoRun
        place = len(self.chosen)
        if place < len(self.script):
            choice = self.script[place]
        elif self.random is not None:
            weights = np.array([states[n].weight for n in possible])
            choice = int(self.random.choice(possible, p=weights / weights.sum()))
        else:
            choice = possible[0]
            self.others += [[*self.chosen, other] for other in possible[1:]]
        self.chosen.append(choice)
        return choice, states[choice]


def all_runs(run: Callable[[Sequence[int]], tuple[Run, Any]]) -> Iterator[tuple[Run, Any]]:
    """All runs, by what is drawn; `Skip` where they are too many."""
    waiting: list[Sequence[int]] = [()]
    count = 0
    while waiting:
        count += 1
        if count > MOST_RUNS:
            raise TooManyRuns
        try:
            made, result = run(waiting.pop())
        except NoRun:
            continue
        waiting += made.others
        yield made, result


def _value(atom: Any, values: Mapping[Any, Any]) -> Any:
    if hasattr(atom, "val"):
        return np.asarray(atom.val, getattr(atom.aval, "dtype", None))
    if atom not in values:
        raise Skip("reads what is no longer computed")
    return values[atom]


# --- classical equations -------------------------------------------------------------------------

_NESTED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "inlined": "jaxpr",
           "custom_jvp_call": "call_jaxpr", "qnode": "jaxpr"}  # fmt: skip
_CHECKS = frozenset({"assert_shots", "assert_size", "assume", "require"})


def _classical(equation: Any, operands: list[Any]) -> Sequence[Any]:
    name, params = equation.primitive.name, equation.params
    if "callback" in name or "debug" in name:
        raise Skip("callback")
    for variable in equation.outvars:
        shape = getattr(variable.aval, "shape", ())
        if not all(type(size) is int for size in shape):
            raise Skip("dynamic sizes")
    if name in EVALUATED:
        with np.errstate(all="ignore"):
            found = EVALUATED[name](*operands, **params)
        results = found if equation.primitive.multiple_results else [found]
        return [
            np.asarray(result, variable.aval.dtype)
            for result, variable in zip(results, equation.outvars, strict=True)
        ]
    if equation.primitive.__module__.startswith("diastase"):
        raise Skip(f"primitive {name}")
    return _by_jax(equation, operands)


def _by_jax(equation: Any, operands: list[Any]) -> Sequence[Any]:
    try:
        with eager():
            found = equation.primitive.bind(*operands, **equation.params)
    except Exception as error:
        raise Skip(f"primitive {equation.primitive.name}: {type(error).__name__}") from error
    found = found if equation.primitive.multiple_results else [found]
    return [one if _is_key(one) else np.asarray(one) for one in found]


def _is_key(value: Any) -> bool:
    return "key" in str(getattr(value, "dtype", ""))


# --- rules ---------------------------------------------------------------------------------------

Rule = Callable[[Run, Mapping[str, Any], list[Any]], Sequence[Any]]


def wires_of(given: Sequence[int | None], operands: Sequence[Any]) -> list[int]:
    """All wires; operands are those that are computed."""
    rest = iter(operands)
    wires = [int(next(rest)) if wire is None else wire for wire in given]
    if any(wire > _LIMIT for wire in wires):
        raise Skip("derivative wires")
    return wires


def _nested(run: Run, params: Any, operands: list[Any], name: str) -> Sequence[Any]:
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
        return [register.density() / register.weight]
    state = register.state.reshape(-1) / np.sqrt(register.weight)
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
    return [register.reduced(wires_of(params["wires"], rest)) / register.weight]


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
        given = [
            _parameter(atom, places, numbers) for atom in parameters_of(equation)
        ]
        rest = equation.invars[1 + len(given) :]
        if not all(hasattr(atom, "val") for atom in rest):
            raise Skip("reads what is no longer computed")
        (register,) = run._evaluated(
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


def released(register: Register, start: Start) -> Register:
    """A final state without the wires that a pass has added."""
    own = register.wires if start.wires is None else min(start.wires, register.wires)
    return of_first_wires(register, own)


_RULES: dict[str, Rule] = {
    **{
        name: lambda run, params, operands, inner=inner: _nested(run, params, operands, inner)
        for name, inner in _NESTED.items()
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
