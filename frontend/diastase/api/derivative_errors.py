"""Errors about what is to be differentiated, and how."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError, DifferentiableCompileError


class DerivativeTargetError(DiastaseError, TypeError):
    """`grad`, `jacobian`, `vmap`, … of something that cannot be called.

        diastase.grad(f(x))          # the gradient of a number
        diastase.grad(f)(x)          # the gradient of f at x

    Give the function itself, then call what comes back.
    """

    title: ClassVar[str] = "Nothing to transform"
    message: ClassVar[str] = "{transformation} takes a function, not something of type {type}"
    help: ClassVar[str] = "write {transformation}(f)(x), not {transformation}(f(x))"
    transformation: str
    type: str


class DerivativeMethodError(DiastaseError, ValueError):
    """A `method` or a step `h` of `grad`, `jacobian`, `jvp`, … that there is not.

    `method` says how the whole function is differentiated: "auto" (the default) exactly, with each
    QNode by its own `diff_method`; "fd" by finite differences with the step `h`, a number other
    than zero. The methods of QNodes, such as "parameter-shift", belong to the QNodes:
    `qml.qnode(device, diff_method="parameter-shift")`.
    """

    title: ClassVar[str] = "Invalid method"
    message: ClassVar[str] = "{transformation} with {option}={value}"
    help: ClassVar[str] = "{option} is {allowed}"
    transformation: str
    option: str
    value: str
    allowed: str


class DerivativeArgumentError(DiastaseError, ValueError):
    """Arguments of `grad`, `jvp`, `vjp`, … that do not fit together.

    `jvp(f, [x, y], [dx], argnums=[0])`: all parameters of `f`, and a tangent, of the same shape,
    for each one that is differentiated; `vjp(f, [x, y], [dz])`: a cotangent for each array that
    `f` returns. `argnums` counts the positional arguments of the call, which must be there.
    """

    title: ClassVar[str] = "Arguments do not fit together"
    message: ClassVar[str] = "{function}: {reason}"
    label: ClassVar[str] = "called here"
    function: str
    reason: str


class DerivativeTypeError(DifferentiableCompileError, TypeError):
    """Values that have no derivative: integers, booleans, and complex numbers in some places.

        diastase.grad(lambda x: x**2)(3)        # 3 is an integer: use 3.0

    An argument that is differentiated is made of real or complex numbers (with `allow_int=True`
    integers may be among them; their derivatives are JAX's `float0`), and so is a result. A complex
    function of complex arguments has a derivative only where it is holomorphic: say
    `holomorphic=True`. The number and the types of tangents and cotangents are those of arguments
    and results.
    """

    title: ClassVar[str] = "No derivative"
    message: ClassVar[str] = "{transformation} of {function}: {reason}"
    help: ClassVar[str] = "{advice}"
    transformation: str
    function: str
    reason: str
    advice: str


class ScalarResultError(DifferentiableCompileError, TypeError):
    """`grad` or `value_and_grad` of a function that returns more, or something else, than a number.

        diastase.grad(lambda x: x**2)(jnp.ones(3))                # three numbers
        diastase.grad(lambda x: jnp.sum(x**2))(jnp.ones(3))

    A gradient belongs to one real number. All derivatives of several numbers are a `jacobian`.
    Values beside the one to differentiate are returned with `has_aux=True`.
    """

    title: ClassVar[str] = "The result is not one real number"
    message: ClassVar[str] = "{transformation} of {function}, which returns {got}"
    label: ClassVar[str] = "differentiated here"
    help: ClassVar[str] = (
        "return one real number (an array of shape (), not (1,)), use diastase.jacobian, or return "
        "(value, others) and say has_aux=True"
    )
    transformation: str
    function: str
    got: str
