"""The guard tree: of the programs for one kind of arguments, one whose guards hold for a call.

Types and all that is no argument are compared by the key under which a call finds its plan. What
depends on sizes is guarded, on two levels:

    Family         by the sizes of arrays, compared before the call (`SizePattern`); with
                   `dynamic_dims="auto"` it learns which of them change (`dynamic_dims`)
    GuardedCall    by what a program assumes, which it checks itself while it runs

A guarded call tries the program that served last, then the others, and then compiles for the sizes
at hand; where that cannot be done for dynamic ones, the family gets a program for these alone. A
function that cannot be traced for any sizes is traced for those at hand (`trace(fixes_sizes=)`),
each of which is an assumption then. Programs stay alive.

The trap: a check at the start of a program costs nothing and leaves nothing behind. One further
inside depends on what the program computes: it is answered by its opposite when the function is
traced again, and only if nothing has happened by then that would happen twice (a callback with
effects).
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase.dynamic_shapes.errors import VaryingSizesError
from diastase.jit.dispatch.dynamic_dims import Avals, Learnt, labels_of, with_symbols
from diastase.jit.stages.argument_checks import SizePattern
from diastase.jit.stages.stages import Compiled
from diastase_mlir.jax_compat import SizeCheckEffect, is_symbolic
from diastase_runtime.errors import AssumptionError, InternalError

_MOST_KEPT = 50
"""Programs kept besides the newest, those that served last; a function that can be traced only for
one size at a time has one for each."""

Answers = Mapping[str, bool]
Recompile = Callable[[Sequence[Any], Answers], Compiled | None]
"""From the arguments of a call, and answers to questions about sizes, to a program; None if only
one for these sizes alone will do."""

_MOST_COMPILATIONS = 100
"""For one call: each program answers at least one question as none before it."""


@dataclass
class Family:
    """The programs of one function for arguments that differ in sizes only.

    What a call compiles depends on the calls before it, so those that compile hold the lock.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    _programs: list[tuple[SizePattern, Compiled]] = field(default_factory=list)
    """Each with the sizes that it serves, those to try first at the front."""
    _learnt: Learnt | None = None

    def find(self, shapes: Sequence[Sequence[int]]) -> Compiled | None:
        """A program that serves these sizes: a dynamic one, or one preferred to those."""
        for pattern, compiled in self._programs:
            if pattern.fits(shapes):
                return compiled
        return None

    def add(self, compiled: Compiled) -> None:
        """Note a program, if it is one of dynamic sizes."""
        avals = compiled.traced.in_avals
        if any(is_symbolic(size) for aval in avals for size in aval.shape):
            self._programs.append((SizePattern(avals), compiled))

    def prefer(self, compiled: Compiled) -> None:
        """From now on find this program first, for the sizes that it serves."""
        self._programs.insert(0, (SizePattern(compiled.traced.in_avals), compiled))

    def learn(
        self,
        avals: Avals,
        compile_for: Callable[[Avals], Compiled],
        report: Callable[[str], None],
    ) -> Compiled:
        """Compile for arguments of these types, which no program serves so far."""
        given = labels_of(avals)
        before = self._learnt or Learnt(given)
        learnt = before.with_call(given)
        for attempt in learnt.attempts(given, before.labels):
            if attempt == given:
                break
            if attempt in learnt.failed:
                continue
            try:
                compiled = compile_for(with_symbols(avals, attempt))
            except InternalError:
                raise
            except Exception as error:
                learnt.failed.add(attempt)
                report(f"sizes {attempt} cannot be dynamic: {error}")
            else:
                self._learnt = learnt
                return compiled
        compiled = compile_for(avals)
        self._learnt = learnt  # not before: from a call that is wrong nothing is learnt
        return compiled


@dataclass(frozen=True, eq=False)
class _Served:
    """A program, and the answers with which the function was traced for it."""

    compiled: Compiled
    answers: Answers


class GuardedCall:
    """A call that finds or makes the program for its sizes; safe to share by threads.

    `compiled` is the first program, `compile_static` makes the call of one for these sizes alone.
    """

    def __init__(
        self,
        compiled: Compiled,
        recompile: Recompile,
        compile_static: Callable[[Sequence[Any]], Callable[[Sequence[Any]], Any]],
    ) -> None:
        self._recompile, self._compile_static = recompile, compile_static
        self._programs = [_Served(compiled, {})]
        """The one that served last is first; replaced as a whole, never changed."""
        self._lock = threading.RLock()

    @property
    def executable(self) -> Any:
        """The loaded program that served last."""
        return self._programs[0].compiled.prepared.executable

    @property
    def programs(self) -> Sequence[Compiled]:
        """The programs that there are, each for itself."""
        return [served.compiled for served in self._programs]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program for these sizes."""
        programs = self._programs
        try:
            return programs[0].compiled.prepared(leaves)
        except AssumptionError as error:
            return self._after(programs[0], error, leaves)

    def _after(self, failed: _Served, error: AssumptionError, leaves: Sequence[Any]) -> Any:
        """Try the other programs, then new ones."""
        told = _answer(failed, error)
        answers = {**failed.answers, **told}
        tried = [failed]
        for _ in range(_MOST_COMPILATIONS):
            untried = self._untried(tried, leaves, answers)
            if not untried:
                return self._compile_static(leaves)(leaves)
            for program in untried:
                tried.append(program)
                try:
                    results = program.compiled.prepared(leaves)
                except AssumptionError as again:
                    answer = _answer(program, again)
                    if any(
                        told.get(question, given) != given for question, given in answer.items()
                    ):
                        raise VaryingSizesError.of(again) from None
                    told.update(answer)
                    error, answers = again, {**answers, **program.answers, **answer}
                else:
                    self._put_first(program)
                    return results
        raise error

    def _untried(
        self, tried: Sequence[_Served], leaves: Sequence[Any], answers: Answers
    ) -> Sequence[_Served]:
        """The programs that there are, or else one compiled for these arguments, if it can be."""
        if untried := [program for program in self._programs if program not in tried]:
            return untried
        with self._lock:  # another thread may have compiled it meanwhile
            if untried := [program for program in self._programs if program not in tried]:
                return untried
            compiled = self._recompile(leaves, answers)
            if compiled is None:
                return []
            program = _Served(compiled, answers)
            self._programs = [*self._programs[:_MOST_KEPT], program]
            return [program]

    def _put_first(self, program: _Served) -> None:
        with self._lock:
            others = [other for other in self._programs if other is not program]
            self._programs = [program, *others]


def _answer(program: _Served, error: AssumptionError) -> dict[str, bool]:
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
    answer = assumption.comparison not in (">=", "==")
    if program.answers.get(assumption.question) == answer:
        raise error  # the program does not give the same answer twice
    return {assumption.question: answer}
