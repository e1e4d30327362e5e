"""The explicit form of a traced program: sizes known only at run time are variables like others."""

from diastase.tracing.explicit.derive import derive_explicit as derive_explicit
from diastase.tracing.explicit.model import ExplicitJaxpr as ExplicitJaxpr

__all__ = ["ExplicitJaxpr", "derive_explicit"]
