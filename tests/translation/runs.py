"""Runs of circuits' equations on numbers that are given: the reference of the checks.

`Run.equations` evaluates equations in order: those that have one by their rule (`rules`), the
others on numbers (`classical`). Where something is drawn, an outcome or a Kraus operator, a script
says which; what it says nothing of is the first that may be, and the other possibilities are noted,
so that `all_runs` goes through all of them.

What cannot be interpreted raises `Skip`, with the reason.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from translation.classical import Skip, evaluated
from translation.registers import (
    Register,
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


Rule = Callable[["Run", Mapping[str, Any], list[Any]], Sequence[Any]]
"""From a run, the parameters of an equation and its operands to its results."""


@dataclass
class Run:
    """One run, and what it has found."""

    rules: Mapping[str, Rule]
    """By the names of primitives."""
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
            results = self.evaluated(equation, operands)
            for variable, result in zip(equation.outvars, results, strict=True):
                values[variable] = result

    def jaxpr(self, closed: Any, operands: Sequence[Any]) -> list[Any]:
        """Evaluate a jaxpr; its results."""
        jaxpr = closed.jaxpr
        values = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        values |= dict(zip(jaxpr.invars, operands, strict=True))
        self.equations(jaxpr.eqns, values)
        return [_value(atom, values) for atom in jaxpr.outvars]

    def evaluated(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        """The results of one equation."""
        name = equation.primitive.name
        rule = self.rules.get(name)
        if rule is not None:
            return rule(self, equation.params, operands)
        if any(isinstance(operand, Register) for operand in operands):
            raise Skip(f"primitive {name}")
        return evaluated(equation, operands)

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


def released(register: Register, start: Start) -> Register:
    """A final state without the wires that a pass has added."""
    own = register.wires if start.wires is None else min(start.wires, register.wires)
    return of_first_wires(register, own)
