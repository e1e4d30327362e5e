"""How operations of MLIR are made, in lowering and in passes alike.

- `bindings`: the classes to make them by
- `operations`: constants, arithmetic, comparisons
- `tensors`: elements, slices, whole arrays by formula
- `loops`: structured control flow
- `registers`: qubits taken out of registers and put back
- `buffers`: memory that is made by hand
- `library_calls`: calls of Python, LAPACK, BLAS and of functions for batches
"""
