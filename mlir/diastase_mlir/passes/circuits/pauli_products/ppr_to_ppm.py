"""Rotations about Pauli words become measurements of words, with auxiliary qubits and corrections.

A measurement of P Z_a on an auxiliary qubit a ties Z_a to P; what a is measured as then acts on the
other qubits as a function of P. In each row the outcomes are m1, m2, …, in order; the rotations are
by +angle, those by -angle have the opposite condition on the outcome that says which of two was
done. A correction is a rotation about P by pi where its condition holds: P itself.

    pi/2 (Clifford)     a = |0>             P Y_a, X_a                  correction if m1 = m2
      avoid_y_measure   a = |Y>             P Z_a, X_a                  if m1 != m2
    pi/4 (a T gate)     a = |m>             P Z_a, X_a                  if m2
      clifford-corrected                                  and a rotation by pi/2 if m1
      pauli-corrected   a = |m>             P Z_a, (m1 ? Y : X)_a       if m2
      auto-corrected    a = |m>, c = |0>    P Z_a, Z_a Y_c, X_a, (m1 ? X : Z)_c
                                                                        if m3 + m4 + m1 m2 is odd

|m> = T |+> is a magic state, |Y> = S |+>. After each gadget its qubits are in |0> again, so a
circuit has two more wires at most. The state has another global phase for other outcomes.

    Litinski, "A Game of Surface Codes", arXiv:1808.02892, figures 7, 11 and 17
"""

from collections.abc import Callable
from math import pi

from diastase_mlir.bindings import ir
from diastase_mlir.diagnostics import user_span
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.errors import PassOptionError
from diastase_mlir.passes.circuits.pauli_products.clifford_frames import commute_ppr, merge_ppr_ppm
from diastase_mlir.passes.circuits.pauli_products.products import (
    Rotation,
    products_of,
    spelled,
)
from diastase_mlir.passes.circuits.pauli_products.to_ppr import to_ppr
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.segments import Place, segments
from diastase_mlir.passes.circuits.values import both, negate, opposite, where, xor
from diastase_runtime.gate_table import rotation_about


@register_pass("ppr_to_ppm", built_in=True)
def ppr_to_ppm(
    circuit: Circuit, *, decompose_method: str = "pauli-corrected", avoid_y_measure: bool = False
) -> None:
    """Measurements in the place of rotations by multiples of pi/4.

    `decompose_method`: how rotations by pi/4 are corrected, `"pauli-corrected"`,
    `"auto-corrected"` or `"clifford-corrected"`. `avoid_y_measure`: Clifford rotations take an
    auxiliary qubit in |Y> instead of a measurement of Y. Rotations by other angles stay
    (`decompose_arbitrary_ppr`), as do those by pi, which are Pauli operators.
    """
    method = _METHODS.get(decompose_method)
    if method is None:
        raise PassOptionError(
            name="ppr_to_ppm", option=f"decompose_method={decompose_method!r}",
            allowed=", ".join(map(repr, _METHODS)), span=user_span(),
        )  # fmt: skip

    def measured(rotation: Rotation, place: Place) -> bool:
        eighths = rotation.eighths
        if eighths is None:
            return False
        if eighths % 2:
            if eighths % 8 in (3, 5):
                letters, qubits = spelled(rotation.word)
                place.gate(rotation_about(letters), qubits, [pi])
            method(rotation, place, 1 if eighths % 4 == 1 else -1, avoid_y_measure)
        elif eighths % 4:
            clifford(rotation, place, 1 if eighths % 8 == 2 else -1, avoid_y_measure)
        else:
            return eighths % 8 == 0
        return True

    _replace(circuit, measured)


@register_pass("ppm_compilation", built_in=True)
def ppm_compilation(
    circuit: Circuit, *, decompose_method: str = "pauli-corrected", avoid_y_measure: bool = False,
    max_pauli_size: int = 0,
) -> None:  # fmt: skip
    """`to_ppr`, `commute_ppr`, `merge_ppr_ppm` and `ppr_to_ppm`, with their options."""
    to_ppr(circuit)
    commute_ppr(circuit, max_pauli_size=max_pauli_size)
    merge_ppr_ppm(circuit, max_pauli_size=max_pauli_size)
    ppr_to_ppm(circuit, decompose_method=decompose_method, avoid_y_measure=avoid_y_measure)


@register_pass("decompose_arbitrary_ppr", built_in=True)
def decompose_arbitrary_ppr(circuit: Circuit) -> None:
    """Rotations by any angles become such of one auxiliary qubit about Z.

    The qubit is in |+>; P Z of it is measured, m1; it is rotated about Z by the angle, with the
    other sign if m1; X of it is measured, m2; P corrects if m2.
    """

    def measured(rotation: Rotation, place: Place) -> bool:
        letters, _ = spelled(rotation.word)
        if rotation.eighths is not None or len(letters) == 1:
            return False
        (extra,) = place.auxiliary(1)
        place.gate("Hadamard", [extra])
        first = _measure(rotation, place, "Z", extra)
        with place.emitting():
            angle = where(first, negate(rotation.angle), rotation.angle)
        place.gate("RZ", [extra], [angle])
        second = place.measure("X", [extra], reset=True)
        _correct(rotation, place, second)
        return True

    _replace(circuit, measured)


Gadget = Callable[[Rotation, Place, int, bool], None]
"""What rotates by pi/4, or pi/2, times a sign; the last argument is `avoid_y_measure`."""


def clifford(rotation: Rotation, place: Place, sign: int, avoid_y_measure: bool) -> None:
    """A rotation by pi/2."""
    (extra,) = place.auxiliary(1)
    if avoid_y_measure:
        place.gate("Hadamard", [extra])
        place.gate("S", [extra])
    first = _measure(rotation, place, "Z" if avoid_y_measure else "Y", extra)
    second = place.measure("X", [extra], reset=True)
    with place.emitting():
        differ = xor(first, second)
        condition = differ if (sign > 0) == avoid_y_measure else opposite(differ)
    _correct(rotation, place, condition)


def _clifford_corrected(rotation: Rotation, place: Place, sign: int, _: bool) -> None:
    extra = _magic_state(place)
    first = _measure(rotation, place, "Z", extra)
    second = place.measure("X", [extra], reset=True)
    with place.emitting():
        angle = where(_other_way(first, sign), sign * pi / 2)
    letters, qubits = spelled(rotation.word)
    place.gate(rotation_about(letters), qubits, [angle])
    _correct(rotation, place, second)


def _pauli_corrected(rotation: Rotation, place: Place, sign: int, _: bool) -> None:
    extra = _magic_state(place)
    first = _measure(rotation, place, "Z", extra)
    with place.emitting():
        angle = where(_other_way(first, sign), -pi / 2)
    place.gate("RZ", [extra], [angle])  # from Y to X
    second = place.measure("X", [extra], reset=True)
    _correct(rotation, place, second)


def _auto_corrected(rotation: Rotation, place: Place, sign: int, avoid_y_measure: bool) -> None:
    extra = _magic_state(place)
    _, corrector = place.auxiliary(2)
    first = _measure(rotation, place, "Z", extra)
    second = place.measure("ZY", [extra, corrector])
    third = place.measure("X", [extra], reset=True)
    with place.emitting():
        other_way = _other_way(first, sign)
        angle = where(other_way, -pi / 2)
    place.gate("RY", [corrector], [angle])  # from X to Z
    fourth = place.measure("Z", [corrector], reset=True)
    with place.emitting():
        condition = xor(xor(third, fourth), both(other_way, second))
    _correct(rotation, place, condition)


_METHODS: dict[str, Gadget] = {
    "pauli-corrected": _pauli_corrected,
    "auto-corrected": _auto_corrected,
    "clifford-corrected": _clifford_corrected,
}


def _replace(circuit: Circuit, measured: Callable[[Rotation, Place], bool]) -> None:
    """Replace rotations for which that has made something."""
    for segment in segments(circuit):
        with segment.rewritten() as place:
            for step, product in zip(segment.steps, products_of(segment), strict=True):
                place.at(step)
                if not (isinstance(product, Rotation) and measured(product, place)):
                    place.keep(step)


def _magic_state(place: Place) -> int:
    (extra,) = place.auxiliary(1)
    place.gate("Hadamard", [extra])
    place.gate("T", [extra])
    return extra


def _measure(rotation: Rotation, place: Place, letter: str, extra: int) -> ir.Value:
    letters, qubits = spelled(rotation.word)
    return place.measure(letters + letter, [*qubits, extra])


def _other_way(outcome: ir.Value, sign: int) -> ir.Value:
    """Whether the rotation was by the opposite angle."""
    return outcome if sign > 0 else opposite(outcome)


def _correct(rotation: Rotation, place: Place, condition: ir.Value) -> None:
    letters, qubits = spelled(rotation.word)
    with place.emitting():
        angle = where(condition, pi)
    place.gate(rotation_about(letters), qubits, [angle])
