"""What is asked of the resources of a circuit and cannot be had."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class UnknownSymbolError(DiastaseError, ValueError):
    """A name in `subs` or `expected` that resources do not depend on.

        qml.specs(f)(5).resources.subs(k=3)     # no argument, loop or branch has this name

    Names are those of integer arguments, and of loops and branches that the printed resources list.
    """

    title: ClassVar[str] = "No such symbol"
    message: ClassVar[str] = "the resources do not depend on {name}"
    help: ClassVar[str] = "they depend on {known}"
    name: str
    known: str


class SymbolValueError(DiastaseError, ValueError):
    """A value that a symbol of resources, an open loop or an open branch cannot have.

    qml.specs(f)(3).subs(trips_1=-2)
    """

    title: ClassVar[str] = "Not a value of this symbol"
    message: ClassVar[str] = "{name} cannot be {value}"
    help: ClassVar[str] = "it is {wanted}"
    name: str
    value: str
    wanted: str


class NotCompiledFunctionError(DiastaseError, TypeError):
    """Resources asked for of something that `qjit` has not compiled.

    diastase.passes.ppm_specs(circuit)              # a QNode
    diastase.passes.ppm_specs(qjit(circuit))        # what it takes
    """

    title: ClassVar[str] = "Not a compiled function"
    message: ClassVar[str] = "{function} takes a compiled function, not {type}"
    help: ClassVar[str] = "decorate it with @qjit"
    function: str
    type: str
