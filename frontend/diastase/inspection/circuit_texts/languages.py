"""What the reader of circuits must know of a language, and how what it cannot say is refused."""

from dataclasses import dataclass
from typing import Any

from diastase.inspection.circuit_texts.errors import NotInOpenqasmError, NotInQirError


@dataclass(frozen=True)
class Language:
    """What the reader must know of the language that is written."""

    name: str
    refusal: type[NotInOpenqasmError] | type[NotInQirError]
    hint: str
    """What to do about numbers that have no expression."""
    repeats: bool = True
    """Whether it has loops over ranges, and wires with computed numbers."""


def refusal(
    language: Language, equation: Any, reason: str, hint: str = ""
) -> NotInOpenqasmError | NotInQirError:
    """The error about an equation; a hint, if there is none for its primitive."""
    hint = _HINTS.get(equation.primitive.name) or hint or language.hint
    return language.refusal(construct=construct_of(equation), reason=reason, hint=hint)


def construct_of(equation: Any) -> str:
    """What the user calls it."""
    name = equation.primitive.name
    return str(equation.params.get("name") or _CONSTRUCTS.get(name, name))


_CONSTRUCTS = {
    "diagonal": "DiagonalQubitUnitary", "for_loop": "the for loop", "prepare": "StatePrep",
    "switch": "the branch", "unitary": "QubitUnitary", "while_loop": "the while loop",
    "global_phase": "GlobalPhase", "expval_pauli": "expval", "var_pauli": "var",
    "sample": "a measurement with shots", "record": "a derivative", "kraus": "a channel",
    "pauli_channel": "a channel", "superoperator": "a channel",
}  # fmt: skip
_SHOTS = "return measurements that the same shots give, and the others by a QNode of their own"
_HINTS = {
    **dict.fromkeys(
        ("kraus", "pauli_channel", "superoperator"),
        "leave it out: devices have noise of their own",
    ),
    **dict.fromkeys(("expval_pauli", "var_pauli", "probs", "sample"), _SHOTS),
    "unitary": "apply it as gates: qml.ops.two_qubit_decomposition, qml.ctrl_decomp_zyz, …",
    "prepare": "prepare the state by gates: qml.MottonenStatePreparation",
    "allocate_qubits": "give the device a number of wires that is known",
    "measure": "leave out postselect: there is no statement for it",
}
