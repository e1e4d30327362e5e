"""Vectors of one length, a number for each lane."""

from collections.abc import Sequence

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import INTEGER_PREDICATES, create, enumeration, integer_type


class Vectors:
    """Emits vectors of so many lanes."""

    def __init__(self, count: int):
        self.lanes = count

    def vector_type(self, kind: ir.Type) -> ir.Type:
        """The type of vectors of such numbers."""
        return ir.VectorType.get([self.lanes], kind)

    def broadcast(self, number: ir.Value) -> ir.Value:
        """The same number in all lanes."""
        return create("vector.broadcast", [self.vector_type(number.type)], [number]).result

    def equal(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """In which lanes two vectors of integers are equal."""
        attributes = {"predicate": enumeration(INTEGER_PREDICATES.index("eq"))}
        kind = self.vector_type(integer_type(1))
        return create("arith.cmpi", [kind], [left, right], attributes).result

    def lane_of(self, vector: ir.Value, lane: int) -> ir.Value:
        """The number in a lane."""
        kind = ir.VectorType(vector.type).element_type
        position = {"static_position": ir.DenseI64ArrayAttr.get([lane])}
        return create("vector.extract", [kind], [vector], position).result

    def from_lanes(self, numbers: Sequence[ir.Value]) -> ir.Value:
        """A vector of numbers."""
        return create("vector.from_elements", [self.vector_type(numbers[0].type)], numbers).result

    def part_of(self, vector: ir.Value, begin: int, count: int) -> ir.Value:
        """Some neighbouring lanes."""
        kind = ir.VectorType.get([count], ir.VectorType(vector.type).element_type)
        attributes = {
            name: ir.ArrayAttr.get([ir.IntegerAttr.get(integer_type(64), number)])
            for name, number in (("offsets", begin), ("sizes", count), ("strides", 1))
        }
        return create("vector.extract_strided_slice", [kind], [vector], attributes).result

    def with_part(self, vector: ir.Value, part: ir.Value, begin: int) -> ir.Value:
        """The vector with some neighbouring lanes replaced."""
        attributes = {
            name: ir.ArrayAttr.get([ir.IntegerAttr.get(integer_type(64), number)])
            for name, number in (("offsets", begin), ("strides", 1))
        }
        kind = [vector.type]
        return create("vector.insert_strided_slice", kind, [part, vector], attributes).result
