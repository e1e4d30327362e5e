"""Errors of the capture of quantum programs, a module for each topic."""

from diastase.capture.quantum_errors.measurements import (
    StarredCountsError,
    UnsupportedMeasurementError,
    UnsupportedObservableError,
)
from diastase.capture.quantum_errors.operations import (
    AlreadyAppliedError,
    BatchSizeError,
    ParameterTypeError,
    UnsupportedOperationError,
)
from diastase.capture.quantum_errors.qnodes import (
    CollectiveInQNodeError,
    InvalidSettingError,
    OutsideProgramError,
    OutsideQNodeError,
    UnsupportedReturnError,
)
from diastase.capture.quantum_errors.quantum_functions import (
    ControlValuesError,
    MeasurementInsideError,
    NotAQuantumFunctionError,
    NotInvertibleError,
    UnrepeatableError,
)
from diastase.capture.quantum_errors.regions import ForeignRegion, ForeignRegionError
from diastase.capture.quantum_errors.wires import (
    AllocationError,
    UnknownWireError,
    UnknownWiresError,
    WireTypeError,
)

__all__ = [
    "AllocationError",
    "AlreadyAppliedError",
    "BatchSizeError",
    "CollectiveInQNodeError",
    "ControlValuesError",
    "ForeignRegion",
    "ForeignRegionError",
    "InvalidSettingError",
    "MeasurementInsideError",
    "NotAQuantumFunctionError",
    "NotInvertibleError",
    "OutsideProgramError",
    "OutsideQNodeError",
    "ParameterTypeError",
    "StarredCountsError",
    "UnknownWireError",
    "UnknownWiresError",
    "UnrepeatableError",
    "UnsupportedMeasurementError",
    "UnsupportedObservableError",
    "UnsupportedOperationError",
    "UnsupportedReturnError",
    "WireTypeError",
]
