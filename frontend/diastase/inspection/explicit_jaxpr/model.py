"""What an explicit jaxpr is made of.

As a jaxpr, with one difference: the size of an array's axis may be a *variable* (`f64[a]`), and
any size that occurs in a type is declared before it. A size among an equation's parameters is
`None` there (`shape=(None,)`), and an operand after the others. Inputs come in this order:

    constants with their sizes (`num_consts`)    what a nested jaxpr captures from outside
    implicit inputs (`num_implicit_inputs`)      sizes of the explicit ones
    explicit inputs                              the arguments of the Python function

and outputs as `num_implicit_outputs` sizes, then the explicit ones. Only some sizes are implicit:
one that is an input already is not returned again.

Equality of variables is identity; names exist only in printed text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase.inspection.explicit_jaxpr.expansion import input_type, output_type
from diastase.inspection.explicit_jaxpr.printing import jaxpr_text
from diastase.inspection.explicit_jaxpr.types import (
    Atom,
    ExplicitVariable,
    InputType,
    OutputType,
    Size,
)


@dataclass(frozen=True, eq=False)
class ExplicitEquation:
    """`results = primitive[params] operands`; nested jaxprs are parameters."""

    primitive: str
    operands: Sequence[Atom]
    results: Sequence[ExplicitVariable]
    params: Mapping[str, Any] = field(default_factory=dict)
    original: Any = None
    """The equation of the symbolic jaxpr that this one stands for, if its parameters are equal."""
    source_info: Any = None


@dataclass(frozen=True, eq=False)
class ExplicitJaxpr:
    """A function over explicit sizes."""

    constants: Sequence[tuple[ExplicitVariable, Any]]
    """Arrays that the function closes over, with the variables that stand for them."""
    inputs: Sequence[ExplicitVariable]
    equations: Sequence[ExplicitEquation]
    outputs: Sequence[Atom]
    num_consts: int = 0
    """How many of the first inputs are captured from outside, or sizes of what is."""
    num_implicit_inputs: int = 0
    """How many of the inputs after the captured ones are sizes only."""
    num_implicit_outputs: int = 0
    """How many of the first outputs are sizes only."""
    assumed_equal: Sequence[Sequence[Size]] = ()
    """Groups of sizes that are different variables, but were assumed to be equal."""
    name: str = ""
    """What the user's function is called."""

    @property
    def in_type(self) -> InputType:
        """`(type, is_explicit)` of each input, sizes as `DBIdx`."""
        return input_type(self.inputs, self.num_consts + self.num_implicit_inputs)

    @property
    def out_type(self) -> OutputType:
        """`(type, is_explicit)` of each output, sizes as `InDBIdx` or `OutDBIdx`."""
        return output_type(self.inputs, self.outputs, self.num_implicit_outputs)

    def __str__(self) -> str:
        """Print it as JAX prints jaxprs; a result that nothing uses is `_`."""
        return jaxpr_text(self)

    __repr__ = __str__
