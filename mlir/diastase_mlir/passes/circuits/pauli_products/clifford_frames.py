"""Clifford rotations moved to the end of each segment: `commute_ppr`, `merge_ppr_ppm`.

    Clifford rotations C, then a rotation about Q    ->    a rotation about C* Q C, then C

Whatever C is made of, one product of images gives the new word (`paulis.Frame`), so a pass takes
time in proportion to the circuit. Rotations about P by pi are moved as well: they are P itself, and
change signs.
"""

from dataclasses import dataclass, field

from diastase_mlir.diagnostics import user_span
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.errors import OptionValueError
from diastase_mlir.passes.circuits.pauli_products.paulis import Frame, Pauli
from diastase_mlir.passes.circuits.pauli_products.products import (
    Measured,
    Product,
    Rotation,
    mask_of,
    products_of,
)
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.segments import Place, Segment, Step, segments


@register_pass("commute_ppr", built_in=True)
def commute_ppr(circuit: Circuit, *, max_pauli_size: int = 0) -> None:
    """Clifford rotations behind all others, up to the next measurement.

    `max_pauli_size`: no word becomes longer than this by it, where it is not 0.
    """
    _check("commute_ppr", max_pauli_size)
    for segment in segments(circuit):
        _move(segment, max_pauli_size, through_measurements=False)


@register_pass("merge_ppr_ppm", built_in=True)
def merge_ppr_ppm(circuit: Circuit, *, max_pauli_size: int = 0) -> None:
    """Clifford rotations behind measurements, too, whose words and outcomes they change.

    Those that come to the end of a circuit whose final state nobody looks at are left out.
    """
    _check("merge_ppr_ppm", max_pauli_size)
    for segment in segments(circuit):
        _move(segment, max_pauli_size, through_measurements=True)


def _check(name: str, size: int) -> None:
    if size < 0:
        raise OptionValueError(
            name=name, option="max_pauli_size", value=str(size), span=user_span(),
            allowed="a length of words, or 0 for any",
        )  # fmt: skip


def _move(segment: Segment, longest: int, through_measurements: bool) -> None:
    with segment.rewritten() as place:
        passing = _Passing(place, longest, through_measurements)
        for step, product in zip(segment.steps, products_of(segment), strict=True):
            place.at(step)
            passing.meet(product)
        if not (through_measurements and segment.is_last):
            place.at_the_end()
            passing.put_all()


@dataclass
class _Passing:
    """Clifford rotations that have been taken out, and wait to be put behind what comes next."""

    place: Place
    longest: int
    through_measurements: bool
    frame: Frame = field(default_factory=Frame)
    cliffords: list[Rotation] = field(default_factory=list[Rotation])
    support: int = 0

    def meet(self, product: Product) -> None:
        """Put what comes in the place of a step."""
        match product:
            case Rotation():
                turns = product.quarter_turns
                if turns is not None:
                    self.frame.pass_by(product.word, turns)
                    self.cliffords.append(product)
                    self.support |= product.word.support
                    return
                image = self._passed(product.word)
                with self.place.emitting():
                    rotation = product.about(image)
                rotation.put(self.place)
            case Measured() if self.through_measurements:
                product.put(self.place, self._passed(product.word))
            case Measured():
                self._put_before(product.word.support)
                self.place.keep(product.step)
            case Step():
                self._put_before(mask_of(product.qubits))
                self.place.keep(product)

    def put_all(self) -> None:
        """Put all that waits."""
        for one in self.cliffords:
            one.put(self.place)
        self.frame, self.cliffords, self.support = Frame(), [], 0

    def _passed(self, word: Pauli) -> Pauli:
        image = self.frame.image(word)
        if self.longest and image.support.bit_count() > max(self.longest, word.support.bit_count()):
            self.put_all()
            return word
        return image

    def _put_before(self, touched: int) -> None:
        """Put what waits, if something acts on these qubits."""
        if self.support & touched:
            self.put_all()
