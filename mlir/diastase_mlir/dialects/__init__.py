"""Our MLIR dialects: one file each; `DIALECTS` is what a compilation loads into its context."""

from diastase_mlir.bindings import ext
from diastase_mlir.dialects.quantum import Quantum

DIALECTS: tuple[type[ext.Dialect], ...] = (Quantum,)
