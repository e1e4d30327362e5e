"""Rotations about Pauli words, and measurements of words, as gates that graph states are made of.

    PauliRot[XZ](a)    ->    H, CNOT, RZ(a), CNOT, H

Each is turned into Z of its last qubit, which is rotated or measured, and back. What is left is
`Hadamard`, `S`, `CNOT`, `RZ` and measurements of Z: what measurement-based computation has patterns
of. The patterns themselves, on cluster states, are not made.
"""

from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.pauli_products.products import (
    Measured,
    Rotation,
    products_of,
    spelled,
)
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.segments import Place, segments
from diastase_runtime.gate_table import Applied, into_z


@register_pass("ppr_to_mbqc", built_in=True)
def ppr_to_mbqc(circuit: Circuit) -> None:
    """Write rotations about words and measurements of words in gates of one and two qubits."""
    for segment in segments(circuit):
        with segment.rewritten() as place:
            for step, product in zip(segment.steps, products_of(segment), strict=True):
                place.at(step)
                if isinstance(product, Rotation | Measured):
                    _turned(product, place)
                else:
                    place.keep(step)


def _turned(product: Rotation | Measured, place: Place) -> None:
    letters, qubits = spelled(product.word)
    forth, back = into_z(letters, qubits)
    _apply(forth, place)
    if isinstance(product, Rotation):
        place.gate("RZ", qubits[-1:], [product.angle])
    else:
        place.measure_instead(product.step, "Z", qubits[-1:], False)
    _apply(back, place)


def _apply(gates: list[Applied], place: Place) -> None:
    for name, qubits in gates:
        place.gate(name, qubits)
