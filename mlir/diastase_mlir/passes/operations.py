"""What passes ask of operations and how they make them; at the current insertion point."""

from collections.abc import Mapping, Sequence

from diastase_mlir.bindings import ir

_PARALLEL = "#linalg.iterator_type<parallel>"


def create(
    name: str,
    results: Sequence[ir.Type] = (),
    operands: Sequence[ir.Value] = (),
    attributes: Mapping[str, ir.Attribute] | None = None,
    regions: int = 0,
) -> ir.Operation:
    """Any operation, by name."""
    return ir.Operation.create(
        name,
        results=list(results),
        operands=list(operands),
        attributes=dict(attributes or {}),
        regions=regions,
    )


def parallel_loops(generic: ir.Operation) -> list[bool]:
    """For each loop of a `linalg.generic`, whether its iterations are independent."""
    kinds = ir.ArrayAttr(generic.attributes["iterator_types"])
    return [str(kind) == _PARALLEL for kind in kinds]
