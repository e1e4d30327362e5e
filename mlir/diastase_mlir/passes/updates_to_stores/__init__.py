"""Long chains of updates of one array become stores to one memory; around bufferization."""

from diastase_mlir.passes.updates_to_stores.brackets import without_brackets
from diastase_mlir.passes.updates_to_stores.stores import updates_to_stores

__all__ = ["updates_to_stores", "without_brackets"]
