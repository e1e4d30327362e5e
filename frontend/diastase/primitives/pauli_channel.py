"""Noise that applies Pauli words at random, as the stabilizer formalism takes it.

`pauli_channel` stands in the body of a QNode that may be a Clifford circuit, and nowhere else:
`quantum.clifford` reads the body, and no compiler sees it.
"""

from typing import Any

from jax.core import AbstractValue

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.quantum import INSIDE_A_QNODE, Wires


def _pauli_channel_abstract_eval(
    register: Any, *operands: Any, words: tuple[str, ...], wires: Wires
) -> AbstractValue:
    return register


pauli_channel_p = define_primitive(
    "pauli_channel",
    Role.OPERATION,
    Role.EXPANDED,
    construct="noise",
    abstract_eval=_pauli_channel_abstract_eval,
    multiple_results=False,
    missing_rules=INSIDE_A_QNODE,
)
"""`register, *probabilities, *wires -> register`: one of the words, each with its probability, or
none. A word has a letter for each wire, of I, X, Y and Z."""
