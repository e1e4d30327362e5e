"""One function, many compiled programs: from the arguments of a call to the program that serves it.

In: a function, its signature and options, and calls. Out: what runs each (`Plan`).
`Specialisations` is the cache, one dictionary for each level of it, with one key each (`keys`);
`Programs` has the ways to a program that is not in it: for exactly these types; for a `Family` of
types that differ in sizes only; for other sizes, where what a program assumes does not hold
(`guards`). All programs stay alive until the function dies or `clear`.

The trap: two threads that need the same program at once must compile it once; two that need
different ones must not wait for each other, except for tracing.
"""

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from diastase.inspection.progress import progress_of
from diastase.jit.dispatch.attribute_values import Kept
from diastase.jit.dispatch.guards import Answers, Family, GuardedCall
from diastase.jit.dispatch.keys import family_key, program_key
from diastase.jit.dispatch.promotion import Declaration, promoted
from diastase.jit.options.options import QjitOptions
from diastase.jit.stages.stages import Compiled, Lowered, Traced
from diastase.jit.stages.trace_call import (
    Arguments,
    any_symbolic,
    read_arguments,
    trace_call,
    types_of,
)
from diastase.tracing.signatures import Call, Signature
from diastase_runtime.errors import InternalError
from diastase_toolchain.forks import without_forks
from diastase_toolchain.gc_pause import fewer_collections
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.jit.options import ir_errors as debugging_errors
else:
    debugging_errors = LazyModule("diastase.jit.options.ir_errors")

_MOST_PLANS = 2000

Plan = Callable[[Sequence[Any]], Any]
"""What is called with the flat arguments of a call: a `PreparedCall`, or what wraps one."""


@dataclass
class Specialisations:
    """The programs of one function; for a method, those of one instance."""

    plans: dict[Hashable, Plan] = field(default_factory=dict)
    """By what a call looks like, cheaply computed: several keys may lead to one program."""
    families: dict[Hashable, Family] = field(default_factory=dict)
    """By what a call looks like, apart from sizes."""
    derived: dict[Hashable, Any] = field(default_factory=dict)
    """What is compiled of the function, by what was asked for: derivatives, parts of its shots."""
    latest: Traced | Lowered | Compiled | None = None
    """What was made last: the one that `f.jaxpr`, `f.mlir`, … show."""
    is_replaced: bool = False
    """Whether a program runs IR that the user has edited (`debug.replace_ir`)."""
    embedded: dict[Hashable, Any] = field(default_factory=dict)
    """The same for calls with tracers of plain JAX (`diastase.jit.interop`)."""
    reads: dict[str, list[Kept]] = field(default_factory=dict)
    """Of a method: the attributes of its object that any program has read, and what they were."""
    embedded_lock: Any = field(default_factory=threading.RLock)
    _programs: dict[Hashable, "Future[Compiled]"] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def compiled(self) -> list[Compiled]:
        """All programs that there are."""
        with self._lock:
            finished = [future for future in self._programs.values() if future.done()]
        return [future.result() for future in finished if future.exception() is None]

    def program(
        self, find_key: Callable[[], Hashable], compile_program: Callable[[], Compiled]
    ) -> Compiled:
        """Return the program of a key, compiled by whoever asks first.

        The key is found again afterwards: what a method has read of its object is part of it.
        """
        key = find_key()
        with self._lock:
            found = self._programs.get(key)
            future: Future[Compiled] = found or self._programs.setdefault(key, Future())
        if found is not None:
            return future.result()
        try:
            compiled = compile_program()
            key_by_now = find_key()
        except BaseException as error:
            with self._lock:
                self._programs.pop(key, None)
            future.set_exception(error)
            raise
        self.latest = compiled
        self._programs.setdefault(key_by_now, future)
        future.set_result(compiled)
        return compiled

    def remember(self, keys: Iterable[Hashable], plan: Plan) -> None:
        """Let calls that look like this find their program at once.

        A program of dynamic sizes may be called with ever new ones: what is forgotten here is found
        again, more slowly.
        """
        if len(self.plans) > _MOST_PLANS:
            self.plans.clear()
        for key in keys:
            if key is not None:  # what has no key is looked at anew in each call
                self.plans[key] = plan.__call__  # a method is called in less time than an object

    def run_instead(self, compiled: Compiled, other: Compiled) -> None:
        """Wherever a program is called, run another one, which no Python function stands for."""
        compiled.direct_call.executable = other.direct_call.executable
        self.is_replaced = True
        self.latest = replace(other, prepared=compiled.prepared, direct_call=compiled.direct_call)

    def refuse_if_replaced(self, function: str) -> None:
        """Refuse what goes back to the Python function where it is not what runs."""
        if self.is_replaced:
            raise debugging_errors.ReplacedIRError(function=function)

    def clear(self) -> None:
        """Forget all programs; results that callers hold stay valid."""
        with self._lock:
            self._programs.clear()
            self.plans.clear()
            self.families.clear()
            self.derived.clear()
            self.embedded.clear()
            for known in self.reads.values():
                known.clear()
            self.latest = None
            self.is_replaced = False


@dataclass
class Programs:
    """The programs of one function."""

    function: Callable[..., Any]
    signature: Signature
    options: QjitOptions
    made: Specialisations = field(default_factory=Specialisations)
    declared: Declaration | None = None

    def for_call(self, call: Call, leaves: Sequence[Any], tree: Any) -> Any:
        """Find a program of dynamic sizes that serves a call, or compile one."""
        if self.made.families:
            avals = types_of(leaves)
            family = self.made.families.get(family_key(self.signature, call, tree, avals))
            found = family and family.find([aval.shape for aval in avals])
            if found is not None:
                return found.prepared
        return self.compiled(read_arguments(self.signature, call)).prepared

    def compiled(self, arguments: Arguments) -> Compiled:
        """Find the program for arguments of these types, or compile it."""
        typed, learns = self.abstracted(arguments), self.options.learns_sizes
        if not learns and not any_symbolic(typed.avals):
            return self._program(typed)

        family = self._family_of(arguments, Family())
        with family.lock:
            found = family.find([aval.shape for aval in arguments.avals])
            if found is not None:
                return found
            if learns:
                compiled = family.learn(
                    typed.avals,
                    lambda avals: self._program(replace(typed, avals=avals)),
                    self.options.report,
                )
            else:
                compiled = self._program(typed)
            family.add(compiled)
            self._family_of(arguments, family)  # by what a method has read by now
            return compiled

    def _family_of(self, arguments: Arguments, new: Family) -> Family:
        """The family of arguments of these types, a new one if there is none."""
        call, tree, avals = arguments.call, arguments.tree, arguments.avals
        return self.made.families.setdefault(family_key(self.signature, call, tree, avals), new)

    def compiled_for(self, arguments: Arguments) -> Compiled:
        """Compile for this call alone, unless its program was replaced by other IR."""
        if self.made.is_replaced:
            return self.compiled(arguments)
        return self._traced_for_call(self.abstracted(arguments)).compile()

    def abstracted(self, arguments: Arguments) -> Arguments:
        """Arguments with the symbols that `abstracted_axes` asks for in their types."""
        axes = self.options.abstracted_axes
        if axes is None:
            return arguments
        types = axes.types(self.signature, arguments.call, arguments.avals, arguments.names)
        return replace(arguments, avals=types)

    def traced(self, arguments: Arguments) -> Traced:
        """Trace for exactly these types."""
        return trace_call(self.function, self.signature, arguments, self.options)

    def _traced_for_call(self, arguments: Arguments, answers: Answers | None = None) -> Traced:
        """Trace to run the program with these arguments, if need be for their sizes only."""
        return trace_call(
            self.function,
            self.signature,
            arguments,
            self.options,
            answers,
            may_fix_sizes=not self._is_learning(arguments),
        )

    def _is_learning(self, arguments: Arguments) -> bool:
        """Whether these types are an attempt of a `Family`, which has others."""
        return self.options.learns_sizes and any_symbolic(arguments.avals)

    def _program(self, arguments: Arguments) -> Compiled:
        """Find or compile the program for exactly these types of arguments."""

        def key() -> Hashable:
            return program_key(self.signature, arguments.call, arguments.tree, arguments.avals)

        # No collections between tracing and compiling, either.
        with progress_of(self.signature.name), without_forks(), fewer_collections():
            return self.made.program(key, lambda: self._build(arguments))

    def _build(self, arguments: Arguments) -> Compiled:
        """Trace for these types of arguments; compile unless a program that there is serves."""
        traced = self._traced_for_call(arguments)
        for compiled in self.made.compiled():
            serving = promoted(compiled, traced)
            if serving is not None:
                return serving
        if self.declared is not None:
            self.declared.warn_unless_met(arguments)
        compiled = traced.compile()
        if not traced.traced.program.assumptions:
            return compiled
        return replace(compiled, prepared=self._guarded(compiled, arguments))

    def _guarded(self, compiled: Compiled, arguments: Arguments) -> GuardedCall:
        """The call of a program that holds for some sizes only; keeps no argument alive."""
        call = Call((), {}, arguments.call.static)
        types = replace(arguments, call=call, leaves=[])

        def recompile(leaves: Sequence[Any], answers: Answers) -> Compiled | None:
            call = replace(types, leaves=list(leaves))
            try:
                compiled = self._traced_for_call(call, answers).compile()
            except InternalError:
                raise
            except Exception:
                if self._is_learning(types):
                    return None
                raise
            self.made.latest = compiled
            return compiled

        def compile_static(leaves: Sequence[Any]) -> Plan:
            given = replace(types, leaves=list(leaves), avals=tuple(types_of(leaves)))
            family = self._family_of(given, Family())
            static = self._program(given)
            family.prefer(static)
            self._family_of(given, family)
            self.made.plans.clear()  # the family says from now on what serves these sizes
            return static.prepared

        return GuardedCall(compiled, recompile, compile_static)
