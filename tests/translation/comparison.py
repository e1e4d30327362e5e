"""Whether equations do what others did: on random inputs, for all outcomes of measurements.

Both sides are interpreted on the same inputs: random angles, small integers, random unitaries, and
a random state of the register. Runs whose classical results are equal are one group; for each group
the density matrices of its runs, not normalised, have the same sum on both sides, so what is
compared is the channel, with all that it tells. A difference that is not zero vanishes on a set of
measure zero only, so one random input is as good as many; there are two where integers decide.

`CLAIMS` has the passes that keep less than that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from diastase_mlir.rewritings import Equations, Rewriting
from translation.circuit_text import difference_of, number_of_gates
from translation.classical import Skip
from translation.inputs import INTEGERS, drawn_inputs, inputs_of, is_whole
from translation.registers import Register, WireError
from translation.rules import RULES
from translation.runs import NoRun, Run, Start, TooManyRuns, all_runs, released

_ONCE_MORE = 4
"""How often a gate in a loop may be applied, where each is off by the tolerance of a rewriting."""
_SAMPLES = 6
_OF_RESULTS = 100
"""Results may be off by so many times the tolerance: they are of states that are normalised."""


@dataclass(frozen=True)
class Claim:
    """What a pass keeps."""

    from_ground: bool = False
    """Only what the circuit does to |0...0>: it knows that this is where it starts."""
    phase: bool = True
    """The global phase, too."""
    state: bool = True
    """The final state; else only what is measured."""
    tolerance: float = 1e-8


CLAIMS: Mapping[str, Claim] = {
    "disentangle_cnot": Claim(from_ground=True),
    "disentangle_swap": Claim(from_ground=True),
    "merge_ppr_ppm": Claim(state=False),
    "ppr_to_ppm": Claim(phase=False),
    "ppr_to_mbqc": Claim(phase=False),
    "decompose_arbitrary_ppr": Claim(phase=False),
    "ppm_compilation": Claim(phase=False, state=False),
}


class TranslationError(AssertionError):
    """What came out does something else; the message has the pass and the smallest difference."""


def compare(rewriting: Rewriting, seed: int = 0) -> None:
    """Raise `TranslationError` where the two sides differ, `Skip` where they cannot be run."""
    claim = CLAIMS.get(rewriting.name, Claim())
    if rewriting.tolerance:
        gates = _ONCE_MORE * number_of_gates(rewriting.before)
        claim = replace(claim, tolerance=rewriting.tolerance * gates)
    inputs = inputs_of(rewriting.before, rewriting.after)
    decided = any(map(is_whole, inputs))
    wanted, checked = (2 if decided else 1), 0
    reason = Skip("wires that do not exist")
    for attempt in range(len(INTEGERS)):
        try:
            _compare_once(rewriting, claim, inputs, seed + attempt, attempt)
        except WireError:
            continue
        except Skip as skip:
            if str(skip) in ("long", "no wires") and decided:
                reason = skip
                continue
            raise
        checked += 1
        if checked == wanted:
            return
    if not checked:
        raise reason


def _compare_once(
    rewriting: Rewriting, claim: Claim, inputs: Sequence[Any], seed: int, attempt: int
) -> None:
    values = drawn_inputs(inputs, rewriting, np.random.default_rng([seed, 41]), attempt)
    start = Start(seed, claim.from_ground, rewriting.wires)
    before = _Side(rewriting.before, values, start, claim)
    after = _Side(rewriting.after, values, start, claim)
    off = _by_all_runs(before, after, seed)
    if off is not None:
        text = difference_of(rewriting)
        raise TranslationError(f"{rewriting.name}: {off}\n{text}")


def _by_all_runs(before: "_Side", after: "_Side", seed: int) -> str | None:
    """What differs; of runs that are too many, some are compared."""
    try:
        of_before = before.groups()
    except TooManyRuns:
        return _difference_of_equal_choices(before, after, seed)
    try:
        of_after = after.groups()
    except TooManyRuns:
        return _difference_of_samples(of_before, after, seed)
    return _difference(of_before, of_after, before.claim)


# --- runs ----------------------------------------------------------------------------------------


@dataclass
class Group:
    """Runs whose results are equal."""

    results: np.ndarray
    runs: list[list[Register]]

    def weight(self) -> float:
        return sum(float(np.prod([state.weight for state in run])) for run in self.runs)


@dataclass(frozen=True)
class _Side:
    equations: Equations
    values: Mapping[Any, Any]
    start: Start
    claim: Claim

    def groups(self) -> list[Group]:
        """The results of all runs, and what states belong to them."""
        groups: list[Group] = []
        for _, (results, states) in all_runs(self.run):
            own = [released(state, self.start) for state in states]
            equal = (g for g in groups if _far(g.results, results) <= self.claim.tolerance)
            group = next(equal, None)
            if group is None:
                groups.append(Group(results, [own]))
            else:
                group.runs.append(own)
        return [group for group in groups if not group.weight() <= self.claim.tolerance]

    def run(
        self, script: Sequence[int], random: np.random.Generator | None = None
    ) -> tuple[Run, tuple[np.ndarray, list[Register]]]:
        run = Run(RULES, self.start, script, exact=self.claim.phase, random=random)
        values = dict(self.values)
        run.equations(self.equations.equations, values)
        found = [
            atom.val if hasattr(atom, "val") else values[atom] for atom in self.equations.results
        ]
        states = [*run.released, *(one for one in found if isinstance(one, Register))]
        parts = [_numbers(one) for one in found if not isinstance(one, Register)]
        return run, (np.concatenate([*parts, np.zeros(0)]), states)


def _numbers(value: Any) -> np.ndarray:
    if "key" in str(getattr(value, "dtype", "")):
        value = jax.random.key_data(value)
    flat = np.ravel(np.asarray(value)).astype(complex)
    return np.concatenate([flat.real, flat.imag])


def _far(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference, relative to numbers above 1; NaN is NaN."""
    if one.shape != other.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        off = np.abs(one - other) / np.maximum(1.0, np.abs(one))
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return float(np.max(np.where(same, 0.0, np.nan_to_num(off, nan=np.inf)), initial=0.0))


# --- differences ---------------------------------------------------------------------------------


def _difference(before: Sequence[Group], after: Sequence[Group], claim: Claim) -> str | None:
    """What differs; groups of no weight are none."""
    left = list(after)
    for group in before:
        found = min(left, key=lambda other: _far(group.results, other.results), default=None)
        far = np.inf if found is None else _far(group.results, found.results)
        if found is None or far > _OF_RESULTS * claim.tolerance:
            return f"results differ by {far:.3g}"
        left.remove(found)
        if exceeds(off := abs(group.weight() - found.weight()), claim.tolerance):
            return f"probabilities of the same results differ by {off:.3g}"
        if claim.state and exceeds(
            off := _states_differ(group, found, claim.phase), claim.tolerance
        ):
            return f"states differ by {off:.3g}"
    return f"there are {len(left)} more results" if left else None


def exceeds(off: float, tolerance: float) -> bool:
    """Whether a difference is more than rounding; of infinite angles there is nothing to say."""
    if np.isnan(off):
        raise Skip("not a number")
    return off > tolerance


def _states_differ(one: Group, other: Group, phase: bool) -> float:
    first, second = one.runs[0], other.runs[0]
    if len(first) != len(second):
        return np.inf
    if len(one.runs) == len(other.runs) == 1 and not any(s.mixed for s in (*first, *second)):
        return max(map(_far_states, first, second, [phase] * len(first)), default=0.0)
    return max((_far_sums(one, other, place) for place in range(len(first))), default=0.0)


def _far_states(one: Register, other: Register, phase: bool) -> float:
    if one.state.shape != other.state.shape:
        return np.inf
    overlap = np.vdot(other.state, one.state)
    factor = 1.0 if phase or not abs(overlap) else overlap / abs(overlap)
    return float(np.max(np.abs(one.state - factor * other.state)))


def _far_sums(one: Group, other: Group, place: int) -> float:
    sums = [sum(run[place].density() for run in group.runs) for group in (one, other)]
    if np.shape(sums[0]) != np.shape(sums[1]):
        return np.inf
    return float(np.max(np.abs(sums[0] - sums[1])))


def _difference_of_samples(before: Sequence[Group], after: _Side, seed: int) -> str | None:
    """Some runs, drawn: each has results and a state that a run before had."""
    random = np.random.default_rng([seed, 43])
    for _ in range(_SAMPLES):
        try:
            _, (results, states) = after.run((), random)
        except NoRun:
            continue
        own = [released(state, after.start) for state in states]
        most = _OF_RESULTS * after.claim.tolerance
        equal = [group for group in before if _far(group.results, results) <= most]
        if not equal:
            return "results of one run are those of no run before"
        runs = [run for group in equal for run in group.runs]
        off = min(_far_normalised(run, own) for run in runs)
        if after.claim.state and exceeds(off, after.claim.tolerance):
            return "the state of one run is that of no run before"
    return None


def _difference_of_equal_choices(before: _Side, after: _Side, seed: int) -> str | None:
    """Some runs, drawn, and the same outcomes in the same order afterwards."""
    if not (before.claim.phase and before.claim.state):
        raise TooManyRuns  # it measures otherwise
    random = np.random.default_rng([seed, 43])
    for _ in range(_SAMPLES):
        run, (results, states) = before.run((), random)
        again, (results_after, states_after) = after.run(run.chosen)
        if len(again.chosen) != len(run.chosen):
            raise TooManyRuns
        groups = Group(results, [states]), Group(results_after, [states_after])
        off = _difference(groups[:1], groups[1:], before.claim)
        if off is not None:
            return off
    return None


def _far_normalised(one: Sequence[Register], other: Sequence[Register]) -> float:
    pairs = zip(one, other, strict=True)
    return max((_far_states(_normalised(a), _normalised(b), False) for a, b in pairs), default=0.0)


def _normalised(register: Register) -> Register:
    return Register(register.state / np.sqrt(register.divisor), register.mixed)
