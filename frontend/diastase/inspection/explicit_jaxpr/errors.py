"""What the checker of explicit jaxprs finds."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class JaxprTypeError(DiastaseError, TypeError):
    """An explicit jaxpr is not well typed.

    `typecheck_jaxpr` raises it for a jaxpr in which a variable is unbound, bound twice or used
    before it is bound (also as the size in a type), or in which types do not fit: of an equation's
    operands and results, of a nested jaxpr and the equation around it, of a loop's body and the
    values that it carries. `jaxpr` of a traced function is always well typed; one that is not was
    changed by hand, or is our mistake.
    """

    title: ClassVar[str] = "The jaxpr is not well typed"
    message: ClassVar[str] = "{defect}, in `{equation}`"
    label: ClassVar[str] = "{defect}"
    defect: str
    equation: str
    """The equation as printed, without parameters; or the inputs or outputs of which jaxpr."""
