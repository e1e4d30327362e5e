"""How operations of MLIR are made, in lowering and in passes alike.

- `bindings`: the classes to make them by
- `operations`: constants, arithmetic, comparisons
- `tensors`: elements, slices, whole arrays by formula
- `loops`: structured control flow
"""
