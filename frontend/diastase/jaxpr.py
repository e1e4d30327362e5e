"""Explicit jaxprs as data: what `f.jaxpr` is made of, its types, and how to check one.

`f.jaxpr` of a program with sizes known only at run time is an `ExplicitJaxpr`; for any other it is
JAX's own, which `explicit_jaxpr` turns into one. Everything is immutable; `dataclasses.replace`
makes changed copies, which `typecheck_jaxpr` judges. See `docs/explicit-jaxpr.md`.
"""

from diastase.inspection.explicit_jaxpr.derive import explicit_jaxpr
from diastase.inspection.explicit_jaxpr.model import (
    ExplicitEquation,
    ExplicitJaxpr,
    Region,
    regions,
)
from diastase.inspection.explicit_jaxpr.typecheck import JaxprTypeError, typecheck_jaxpr
from diastase.inspection.explicit_jaxpr.types import (
    Atom,
    DBIdx,
    DShapedArray,
    ExplicitLiteral,
    ExplicitType,
    ExplicitVariable,
    InDBIdx,
    InputType,
    OutDBIdx,
    OutputType,
    Size,
    Strategy,
    array_type,
    collapse,
    expand_arguments,
    expand_results,
    initialize_arguments,
    initialize_results,
)

__all__ = [
    "Atom",
    "DBIdx",
    "DShapedArray",
    "ExplicitEquation",
    "ExplicitJaxpr",
    "ExplicitLiteral",
    "ExplicitType",
    "ExplicitVariable",
    "InDBIdx",
    "InputType",
    "JaxprTypeError",
    "OutDBIdx",
    "OutputType",
    "Region",
    "Size",
    "Strategy",
    "array_type",
    "collapse",
    "expand_arguments",
    "expand_results",
    "explicit_jaxpr",
    "initialize_arguments",
    "initialize_results",
    "regions",
    "typecheck_jaxpr",
]
