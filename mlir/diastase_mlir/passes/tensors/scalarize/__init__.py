"""StableHLO on single numbers and short vectors becomes arithmetic on scalars.

    %1 = stablehlo.sine %0 : tensor<f64>                   %x = math.sin %w : f64
    %2 = stablehlo.slice %a [3:4]                          %y = tensor.extract %a[%c3]
    %3 = stablehlo.reshape %2                       ->
    %4 = stablehlo.multiply %1, %3 : tensor<f64>           %z = arith.mulf %x, %y : f64

StableHLO has no scalars: programs that are written out gate by gate, and their derivatives, are
thousands of arrays of one element, each of which MLIR's own conversion would make a loop nest that
five more passes take apart. Here they are scalars at once. What has no rule here is converted as
any other array (`stablehlo-legalize-to-linalg`), and means the same there: conversions of floats to
integers, divisions of integers, unsigned numbers, and all that is neither a number nor short.

- `conversion`: one walk through a function, with what each value has become: numbers, slices and
  short vectors that are no arrays before somebody needs one
- `arithmetic`, `movement`, `dynamic_slices`, `regions`, `loops`: the rules, by an operation's name
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.tensors.scalarize import (
    arithmetic,
    dynamic_slices,
    loops,
    movement,
    regions,
)
from diastase_mlir.passes.tensors.scalarize.conversion import Conversion

RULES = {
    name: rule
    # `regions` has a rule for any operation of ours; others have better ones for some.
    for module in (regions, arithmetic, dynamic_slices, loops, movement)
    for name, rule in module.RULES.items()
}


def scalarize(module: ir.Module) -> None:
    """Convert every function of the module, in place."""
    inner = regions.inner_functions(module)
    for view in module.body.operations:
        definition = view.operation
        conversion = Conversion(RULES, inner)
        if definition.name == "func.func" and regions.is_inner(definition):
            regions.take_scalars(conversion, definition)
            continue
        for region in definition.regions:
            for block in region.blocks:
                conversion.block(block)
        conversion.erase()
