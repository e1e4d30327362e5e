"""The explicit form of a traced program: sizes known only at run time are variables like others."""

from diastase.tracing.explicit.derive import derive_explicit as derive_explicit
from diastase.tracing.explicit.derive import explicit_jaxpr as explicit_jaxpr
from diastase.tracing.explicit.model import ExplicitJaxpr as ExplicitJaxpr
from diastase.tracing.explicit.typecheck import typecheck_jaxpr as typecheck_jaxpr

__all__ = ["ExplicitJaxpr", "derive_explicit", "explicit_jaxpr", "typecheck_jaxpr"]
