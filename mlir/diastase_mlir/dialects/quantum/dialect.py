"""The dialect itself, its types, and how an operation that is not valid is reported.

Everything else of the dialect is defined on top of this, in modules that the package imports: an
operation is registered when its class is made.
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from diastase_mlir.bindings import ext, ir

Tensor = ir.RankedTensorType
Integer = ir.IntegerType[64] | Tensor
Boolean = ir.IntegerType[1] | Tensor
Real = ir.F64Type | Tensor
"""Numbers: arrays of rank 0 as lowering emits them, scalars after the pass `scalarize`."""


class Quantum(ext.Dialect, name="quantum"):
    """Qubits, gates and measurements on state vectors."""


class RegisterType(Quantum.Type, name="register"):
    """A state vector, of amplitudes in double precision."""


class SingleRegisterType(Quantum.Type, name="single_register"):
    """A state vector, of amplitudes in single precision."""


Register = RegisterType | SingleRegisterType


class BitType(Quantum.Type, name="bit"):
    """One qubit of a register, taken out of it."""


def fail(operation: ir.Operation, reason: str) -> bool:
    """Report why an operation is not valid; the verifier's answer."""
    operation.location.emit_error(f"'{operation.name}': {reason}")
    return False
