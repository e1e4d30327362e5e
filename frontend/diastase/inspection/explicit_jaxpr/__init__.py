"""The explicit form of a traced program: sizes known only at run time are variables like others."""

from diastase.inspection.explicit_jaxpr.derive import derive_explicit as derive_explicit
from diastase.inspection.explicit_jaxpr.derive import explicit_jaxpr as explicit_jaxpr
from diastase.inspection.explicit_jaxpr.model import ExplicitJaxpr as ExplicitJaxpr
from diastase.inspection.explicit_jaxpr.model import with_sources as with_sources
from diastase.inspection.explicit_jaxpr.typecheck import typecheck_jaxpr as typecheck_jaxpr

__all__ = ["ExplicitJaxpr", "derive_explicit", "explicit_jaxpr", "typecheck_jaxpr", "with_sources"]
