"""Calls of programs that hold for some sizes only.

In: a program with assumptions, and how to compile the function anew. Out: a call that always runs
a program whose assumptions hold. It tries the one that served last, then the others, and then
compiles for the sizes at hand; programs stay alive.

A function that cannot be traced for any sizes is traced for those at hand (`trace(fixes_sizes=)`),
each of which is an assumption then.

A check at the start of a program costs nothing and leaves nothing behind. One further inside
depends on what the program computes: it is answered by its opposite when the function is traced
again, and only if nothing has happened by then that would happen twice (a callback with effects).
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase.jit.stages.stages import Compiled
from diastase_mlir.jax_compat import SizeCheckEffect
from diastase_runtime.errors import AssumptionError

_MOST_KEPT = 50
"""Programs kept besides the newest, those that served last; a function that can be traced only for
one size at a time has one for each."""

Answers = Mapping[str, bool]
Recompile = Callable[[Sequence[Any], Answers], Compiled]
"""From the arguments of a call, and answers to questions about sizes, to a program."""

_MOST_COMPILATIONS = 100
"""For one call: each program answers at least one question as none before it."""


@dataclass(frozen=True, eq=False)
class _Served:
    """A program, and the answers with which the function was traced for it."""

    compiled: Compiled
    answers: Answers


@dataclass
class AssumedCall:
    """A call that finds or makes the program for its sizes; safe to share by threads."""

    recompile: Recompile
    _programs: list[_Served] = field(default_factory=list)
    """The one that served last is first; replaced as a whole, never changed."""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @staticmethod
    def starting_with(compiled: Compiled, recompile: Recompile) -> "AssumedCall":
        """The call of a function of which one program is compiled."""
        return AssumedCall(recompile, [_Served(compiled, {})])

    @property
    def executable(self) -> Any:
        """The loaded program that served last."""
        return self._programs[0].compiled.prepared.executable

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program for these sizes."""
        programs = self._programs
        try:
            return programs[0].compiled.prepared(leaves)
        except AssumptionError as error:
            return self._after(programs[0], error, leaves)

    def _after(self, failed: _Served, error: AssumptionError, leaves: Sequence[Any]) -> Any:
        """Try the other programs, then new ones."""
        answers = _answers(failed, error)
        tried = [failed]
        for _ in range(_MOST_COMPILATIONS):
            for program in self._untried(tried, leaves, answers):
                tried.append(program)
                try:
                    results = program.compiled.prepared(leaves)
                except AssumptionError as again:
                    error, answers = again, {**answers, **_answers(program, again)}
                else:
                    self._put_first(program)
                    return results
        raise error

    def _untried(
        self, tried: Sequence[_Served], leaves: Sequence[Any], answers: Answers
    ) -> Sequence[_Served]:
        """The programs that there are, or else one compiled for these arguments."""
        if untried := [program for program in self._programs if program not in tried]:
            return untried
        with self._lock:  # another thread may have compiled it meanwhile
            if untried := [program for program in self._programs if program not in tried]:
                return untried
            program = _Served(self.recompile(leaves, answers), answers)
            self._programs = [*self._programs[:_MOST_KEPT], program]
            return [program]

    def _put_first(self, program: _Served) -> None:
        with self._lock:
            others = [other for other in self._programs if other is not program]
            self._programs = [program, *others]


def _answers(program: _Served, error: AssumptionError) -> Answers:
    """What a failed assumption tells: its opposite, if the arguments do not say it.

    Raises the error if it is another program's, or if trying again would be noticed.
    """
    if error.raised_by is not program.compiled.prepared.executable:
        raise error
    traced = program.compiled.traced.program
    assumption = traced.assumptions[error.number]
    if assumption.at_start:
        return {}
    if any(not isinstance(effect, SizeCheckEffect) for effect in traced.jaxpr.effects):
        raise error
    answers = {assumption.question: assumption.comparison not in (">=", "==")}
    if answers.items() <= program.answers.items():
        raise error  # the program does not give the same answer twice
    return {**program.answers, **answers}
