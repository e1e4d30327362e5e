"""From the arguments of a call to the program that serves it: found, or traced and compiled.

In: one function, its signature and options, and the `Specialisations` that hold what is compiled.
Each way to a program is here: for exactly these types; for a `Family`, where sizes are dynamic; for
other sizes, where what a program assumes does not hold (`diastase.jit.dispatch.guards`).
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from diastase.inspection.progress import progress_of
from diastase.jit.dispatch.dynamic_dims import FallingBack, Family, NotForTheseSizes
from diastase.jit.dispatch.guards import Answers, AssumedCall
from diastase.jit.dispatch.keys import family_key, program_key
from diastase.jit.dispatch.program_cache import (
    Arguments,
    Specialisations,
    any_symbolic,
    read_arguments,
    trace_call,
    types_of,
)
from diastase.jit.dispatch.promotion import promoted
from diastase.jit.dispatch.type_hints import Declaration
from diastase.jit.options.options import QjitOptions
from diastase.jit.stages.stages import Compiled, Traced
from diastase.tracing.signatures import Call, Signature
from diastase_runtime.errors import InternalError
from diastase_toolchain.gc_pause import fewer_collections


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

        def key() -> Hashable:
            return family_key(self.signature, arguments.call, arguments.tree, arguments.avals)

        family = self.made.families.setdefault(key(), Family())
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
            self.made.families.setdefault(key(), family)  # by what a method has read by now
            return compiled

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
        with progress_of(self.signature.name), fewer_collections():
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
        return replace(compiled, prepared=self._assumed(compiled, arguments))

    def _assumed(self, compiled: Compiled, arguments: Arguments) -> Any:
        """The call of a program that holds for some sizes only; keeps no argument alive."""
        call = Call((), {}, arguments.call.static)
        types = replace(arguments, call=call, leaves=[])

        def recompile(leaves: Sequence[Any], answers: Answers) -> Compiled:
            call = replace(types, leaves=list(leaves))
            compiled = self._traced_for_call(call, answers).compile()
            self.made.latest = compiled
            return compiled

        def recompile_or_fall_back(leaves: Sequence[Any], answers: Answers) -> Compiled:
            try:
                return recompile(leaves, answers)
            except InternalError:
                raise
            except Exception as error:
                raise NotForTheseSizes() from error

        def static(leaves: Sequence[Any]) -> Any:
            avals = tuple(types_of(leaves))
            return self._program(replace(types, leaves=list(leaves), avals=avals)).prepared

        if not self._is_learning(types):
            return AssumedCall.starting_with(compiled, recompile)
        return FallingBack(AssumedCall.starting_with(compiled, recompile_or_fall_back), static)
