"""`gridsynth`: rotations about Z become words of Clifford gates and T.

    r1 = gate[RZ] r0 0.3        ->    r1 = gate[Hadamard] r0; r2 = gate[T] r1; …; global_phase

In: the jaxpr of a QNode's body; out: one that takes what the first one closes over, its leading
operands. Angles that are numbers become gates while we compile; for others Python is called when
the program runs (`pure_callback`), and a loop goes through the word that it gives. Gates with
controls stay: `graph_decomposition` makes CNOTs and rotations of them, before.

The trap: a word is a step function of the angle, so derivatives by it would be silent zeros. The
inputs that such an angle depends on are told, and refused where somebody differentiates by them.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Literal, Var

from diastase.jaxprs.control_flow import record_loop, record_switch
from diastase.jaxprs.dependence import Activity
from diastase.primitives.qnode_derivatives import is_inexact
from diastase.primitives.quantum import gate_p, global_phase_p, is_register
from diastase.quantum.passes.clifford_t import Letter, alphabet_of, longest_word, word_for
from diastase_mlir import OptionValueError, at, register_pass, span_of
from diastase_mlir.jax_compat import rebuilt, source_context, trace_to_jaxpr, with_jaxprs
from diastase_runtime.errors import InternalError

Equation = Any
_SMALL = 1e-6
"""Below this, PennyLane's search takes long, and may fail: double precision is near its end."""


@dataclass(frozen=True)
class RewrittenBody:
    """What a pass has made of a body."""

    jaxpr: ClosedJaxpr
    unmoved: Mapping[int, Any]
    """Inputs that must not be differentiated by, and because of which equation."""


@dataclass(frozen=True)
class Gridsynth:
    """The pass with its options."""

    epsilon: float
    rotations: bool
    reason = (
        "it approximates an angle that is known only when the program runs, and the gates for it "
        "jump: leave the pass out where this is differentiated, or use jax.lax.stop_gradient"
    )

    def __call__(self, closed: ClosedJaxpr, known: Mapping[Var, Any]) -> RewrittenBody:
        """Replace the rotations of a body, some inputs of which are known."""
        if self.epsilon < _SMALL:
            text = f"gridsynth: epsilon={self.epsilon} is so small that the search may be long"
            warnings.warn(text, UserWarning, stacklevel=2)
        synthesis = _Synthesis(self, dict(known))
        body = synthesis.rewritten(closed)
        return RewrittenBody(body, synthesis.inputs_read(closed))


@register_pass("gridsynth", built_in=True, of="body")
def gridsynth(*, epsilon: Any = 1e-4, ppr_basis: Any = False) -> Gridsynth:
    """`RZ` and `PhaseShift` as Clifford gates and T, or as rotations about Pauli words."""
    is_number = isinstance(epsilon, int | float | np.number) and not isinstance(epsilon, bool)
    if not is_number or not 0 < epsilon < 1:
        allowed = "a number between 0 and 1"
        raise OptionValueError(
            name="gridsynth", option="epsilon", value=repr(epsilon), allowed=allowed
        )
    if not isinstance(ppr_basis, bool | np.bool_):
        raise OptionValueError(
            name="gridsynth", option="ppr_basis", value=repr(ppr_basis), allowed="True or False"
        )
    return Gridsynth(float(epsilon), bool(ppr_basis))


@dataclass
class _Synthesis:
    """One body, gone through."""

    options: Gridsynth
    known: dict[Any, Any]
    traced: list[Equation] = field(default_factory=list[Equation])
    """The rotations whose angles only the program knows."""

    def rewritten(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        """A region with words in the place of its rotations."""
        equations: list[Equation] = []
        registers: dict[Any, Any] = {}
        for equation in closed.jaxpr.eqns:
            read = [registers.get(a, a) if isinstance(a, Var) else a for a in equation.invars]
            if not _is_rotation(equation):
                params = with_jaxprs(equation.params, self._inner)
                equations.append(equation.replace(invars=read, params=params))
                continue
            new, result = self._word(equation, read)
            equations += new
            registers[equation.outvars[0]] = result
        outputs = [registers.get(a, a) if isinstance(a, Var) else a for a in closed.jaxpr.outvars]
        return rebuilt(closed, closed.jaxpr.invars, equations, outputs)

    def _inner(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        return self.rewritten(closed) if any(map(is_register, closed.jaxpr.invars)) else closed

    def _word(self, equation: Equation, read: Sequence[Any]) -> tuple[list[Equation], Any]:
        """The equations for a rotation, and the register after them."""
        register, angle, *wires = read
        is_phase = equation.params["name"] == "PhaseShift"
        number = angle.val if isinstance(angle, Literal) else self.known.get(angle)
        apply = partial(_apply_known, self.options, is_phase, equation.params["wires"], number)
        inputs = [register, *wires]
        if number is None:
            self.traced.append(equation)
            apply = partial(_apply_traced, self.options, is_phase, equation.params["wires"])
            inputs = [register, angle, *wires]

        def body(*operands: Any) -> Sequence[Any]:
            with source_context(equation.source_info):
                return [apply(*operands)]

        with at(span_of(equation.source_info)):
            jaxpr, captured = trace_to_jaxpr(body, [atom.aval for atom in inputs], "gridsynth")
        assert not captured, "a word closes over nothing"
        given = dict(zip(jaxpr.jaxpr.invars, inputs, strict=True))
        equations = [
            each.replace(invars=[given.get(a, a) if isinstance(a, Var) else a for a in each.invars])
            for each in jaxpr.jaxpr.eqns
        ]
        (result,) = jaxpr.jaxpr.outvars
        return equations, given.get(result, result)

    def inputs_read(self, closed: ClosedJaxpr) -> dict[int, Any]:
        """Which inputs of the body the traced angles depend on, and the first that does."""
        found: dict[int, Any] = {}
        if not self.traced:
            return found
        for place, variable in enumerate(closed.jaxpr.invars):
            if not is_inexact(variable.aval):
                continue
            activity = Activity()
            activity.variables(closed, [each is variable for each in closed.jaxpr.invars])
            for equation in self.traced:
                if activity.of(equation)[1]:
                    found.setdefault(place, equation)
        return found


def _is_rotation(equation: Equation) -> bool:
    params = equation.params
    is_gate = equation.primitive is gate_p and not params["control_values"]
    return is_gate and params["name"] in ("RZ", "PhaseShift")


# --- what stands for a rotation -------------------------------------------------------------------


def _apply_known(
    options: Gridsynth, is_phase: bool, wires: Any, angle: Any, register: Any, *traced: Any
) -> Any:
    angle = float(np.asarray(angle))
    word = word_for(angle, options.epsilon, options.rotations)
    alphabet = alphabet_of(options.rotations)
    for place in word.letters:
        register = _apply_letter(alphabet[place], wires, register, *traced)
    # A phase shift is the rotation times exp(i angle / 2).
    phase = word.phase - angle / 2 * is_phase
    return global_phase_p.bind(register, np.float64(phase))


def _apply_letter(letter: Letter, wires: Any, register: Any, *traced: Any) -> Any:
    parameters = list(map(np.float64, letter.parameters))
    return gate_p.bind(
        register, *parameters, *traced, name=letter.name, num_parameters=len(parameters),
        wires=wires, control_values=(),
    )  # fmt: skip


def _apply_traced(
    options: Gridsynth, is_phase: bool, wires: Any, register: Any, angle: Any, *traced: Any
) -> Any:
    """A loop through the word that Python finds when the program runs."""
    room = longest_word(options.epsilon, options.rotations)
    types = (
        jax.ShapeDtypeStruct((room,), np.int64),
        jax.ShapeDtypeStruct((), np.int64),
        jax.ShapeDtypeStruct((), np.float64),
    )
    find = partial(_found, options.epsilon, options.rotations, room)
    letters, length, phase = jax.pure_callback(find, types, angle, vmap_method="sequential")
    avals = [register_aval := jax.typeof(register), *map(jax.typeof, traced)]

    def branch(letter: Letter) -> tuple[ClosedJaxpr, Sequence[Any]]:
        def apply(register: Any, *traced: Any) -> Sequence[Any]:
            return [_apply_letter(letter, wires, register, *traced)]

        return trace_to_jaxpr(apply, avals, letter.name)

    def turn(index: Any, register: Any) -> Sequence[Any]:
        place = jax.lax.dynamic_index_in_dim(letters, index, keepdims=False)
        branches = list(map(branch, alphabet_of(options.rotations)))
        return record_switch(place, branches, [register, *traced], [register_aval])

    index = ShapedArray((), np.dtype(np.int64))
    body, captured = trace_to_jaxpr(turn, [index, register_aval], "gridsynth")
    bounds = (np.int64(0), length, np.int64(1))
    (register,) = record_loop(body, captured, bounds, [register], in_reverse=False)
    return global_phase_p.bind(register, phase - angle / 2 if is_phase else phase)


def _found(epsilon: float, rotations: bool, room: int, angle: Any) -> Any:
    """A word as an array, its length, and the phase."""
    word = word_for(float(angle), epsilon, rotations)
    if len(word.letters) > room:
        raise InternalError(what=f"a word of {len(word.letters)} gates, and room for {room}")
    letters = np.zeros(room, np.int64)
    letters[: len(word.letters)] = word.letters
    return letters, np.int64(len(word.letters)), np.float64(word.phase)


Rewrite = Callable[[ClosedJaxpr, Mapping[Var, Any]], RewrittenBody]
"""What passes of bodies give."""
