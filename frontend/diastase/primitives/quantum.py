"""Primitives that act on a quantum register, and the `qnode` primitive around them.

The state is one value, of type `AbstractRegister`, threaded linearly through the equations: each
takes the register and gives the next one, which fixes the order of operations.

Wires are parameters of the equation where they are known (`wires=(0, None)`), and operands where
they are traced: each `None` stands for the next wire operand. Targets come before controls.
Operands: `[register, *angles or matrix, *traced wires]`.

The trap: registers are linear by construction (the capture never uses an old one again); nothing
here can check it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.core import AbstractValue, ShapedArray
from jax.extend.core import ClosedJaxpr, Primitive

from diastase.primitives.batching import batched_avals, one_more_axis
from diastase.primitives.define import Role, define_primitive

Wires = tuple[int | None, ...]
"""Known wires; `None` for one that is an operand."""

DERIVATIVE_WIRE = 1 << 20
"""The last wire of a register, where it has derivative wires; no wire of the user's is so large."""

INSIDE_A_QNODE: dict[str, str] = dict.fromkeys(
    ("jvp", "transpose", "vmap"), "QNodes are transformed as a whole, never their operations"
)
"""Why nothing that takes a register has rules, but those of `autodiff`."""
IN_LANES = ("jvp", "vmap_of_axis")
"""The rules of what lane registers have, too (`primitives.lanes`)."""


class AbstractRegister(AbstractValue):
    """The type of a quantum register: a pure state, or where `mixed` a density matrix.

    Its numbers are in double or in single precision. A *lane register* is a batch of registers,
    `lanes` of them (`primitives.lanes`); as an array has, it has an axis for them.
    """

    def __init__(self, single: bool = False, mixed: bool = False, lanes: int = 0) -> None:
        self.single = single
        self.mixed = mixed
        self.lanes = lanes

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the batch that it is."""
        return (self.lanes,) if self.lanes else ()

    def update(self, **kwargs: Any) -> "AbstractRegister":
        """The type of a batch of such registers, which has this `shape`."""
        return AbstractRegister(self.single, self.mixed, *kwargs["shape"])

    @property
    def mlir_type(self) -> str:
        """The type of the `quantum` dialect."""
        return "!quantum.lane_register" if self.lanes else f"!quantum.{self!r}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRegister) and other._key == self._key

    def __hash__(self) -> int:
        return hash((AbstractRegister, *self._key))

    @property
    def _key(self) -> tuple[bool, bool, int]:
        return self.single, self.mixed, self.lanes

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """How jaxprs print it."""
        return repr(self)

    def __repr__(self) -> str:
        kind = f"{'single_' * self.single}{'mixed_' * self.mixed}register"
        return f"{kind}[{self.lanes}]" if self.lanes else kind

    def to_tangent_aval(self) -> AbstractValue:
        """A number that nobody looks at: what JAX needs to see of a register's derivative.

        The derivative itself is in the register, on a wire of its own (`autodiff`).
        """
        return ShapedArray((), np.dtype(np.float64))


def is_register_aval(aval: Any) -> bool:
    """Whether a type is that of a register."""
    return isinstance(aval, AbstractRegister)


def is_register(atom: Any) -> bool:
    """Whether a variable is a register."""
    return isinstance(atom.aval, AbstractRegister)


def touches_register(equation: Any) -> bool:
    """Whether an equation takes a register or gives one."""
    for atoms in (equation.invars, equation.outvars):
        for atom in atoms:  # asked of every equation, some times: no generators
            if isinstance(atom.aval, AbstractRegister):
                return True
    return False


_OUTCOME = ShapedArray((), np.dtype(np.bool_))


def _allocate_abstract_eval(
    *number: Any, num_wires: int | None, qnode: str, single: bool = False, mixed: bool = False,
    derivative_wires: int = 0,
) -> AbstractValue:  # fmt: skip
    return AbstractRegister(single, mixed)


def _release_abstract_eval(register: Any) -> Sequence[AbstractValue]:
    return []


def _gate_abstract_eval(
    register: Any,
    *operands: Any,
    name: str,
    num_parameters: int,
    wires: Wires,
    control_values: tuple[bool, ...],
) -> AbstractValue:
    return register


def _unitary_abstract_eval(
    register: Any,
    matrix: Any,
    *wire_operands: Any,
    wires: Wires,
    control_values: tuple[bool, ...],
    differentiated: bool = False,
) -> AbstractValue:
    return register


def _check_wires_abstract_eval(
    register: Any, *wire_operands: Any, wires: Wires, construct: str
) -> AbstractValue:
    return register


def _diagonal_abstract_eval(
    register: Any,
    elements: Any,
    *wire_operands: Any,
    wires: Wires,
    control_values: tuple[bool, ...],
    differentiated: bool = False,
) -> AbstractValue:
    return register


def _prepare_abstract_eval(
    register: Any, amplitudes: Any, *wire_operands: Any, wires: Wires, differentiated: bool = False
) -> AbstractValue:
    return register


def _global_phase_abstract_eval(register: Any, phi: Any) -> AbstractValue:
    return register


def _measure_abstract_eval(
    register: Any,
    *wire_operands: Any,
    wires: Wires,
    word: str,
    reset: bool,
    postselect: int | None,
) -> Sequence[AbstractValue]:
    return [register, _OUTCOME]


def _qnode_abstract_eval(
    *operands: Any,
    jaxpr: ClosedJaxpr,
    name: str,
    num_wires: int | None,
    device: str,
    differentiation: Any = None,
    **batch: Any,
) -> tuple[Sequence[AbstractValue], set[Any]]:
    return batched_avals(jaxpr.out_avals, operands, batch), set(jaxpr.effects)


def define_on_register(
    name: str,
    construct: str,
    abstract_eval: Callable[..., Any],
    *roles: Role,
    multiple_results: bool = False,
    provided_rules: Sequence[str] = ("jvp",),
) -> Primitive:
    """Make a primitive that takes a register; its forward derivative is known to `autodiff`."""
    return define_primitive(
        name,
        *roles,
        construct=construct,
        abstract_eval=abstract_eval,
        multiple_results=multiple_results,
        missing_rules=INSIDE_A_QNODE,
        provided_rules=provided_rules,
    )


_REVERSIBLE = (Role.OPERATION, Role.GATE, Role.RECORDED)

allocate_p = define_on_register(
    "allocate_qubits", "QNode", _allocate_abstract_eval, Role.LIFETIME, provided_rules=()
)
"""A new register, all qubits in |0>; `qnode` is the user's name of what it is for.

Where `num_wires` is None, the number is the operand. `single`, where it is given, says whether the
amplitudes are complex64, `mixed` whether it is a density matrix. After the wires come
`derivative_wires`, which hold directional derivatives of the state; `DERIVATIVE_WIRE + j` is the
j-th from the end."""

release_p = define_on_register(
    "release_qubits",
    "QNode",
    _release_abstract_eval,
    Role.LIFETIME,
    multiple_results=True,
    provided_rules=IN_LANES,
)
"""`register ->`: the end of its life."""

gate_p = define_on_register(
    "gate", "a gate", _gate_abstract_eval, *_REVERSIBLE, provided_rules=IN_LANES
)
"""A gate of the gate table, by name, with any number of controls."""

unitary_p = define_on_register(
    "unitary",
    "a gate",
    _unitary_abstract_eval,
    *_REVERSIBLE,
    Role.OF_ARRAY,
    provided_rules=IN_LANES,
)
"""A gate given by its matrix, with any number of controls.

Of this and the two others that are given by an array: `differentiated`, where it is given, says
whether a sweep back (`primitives.statevector`) finds derivatives by the elements."""

diagonal_p = define_on_register(
    "diagonal",
    "DiagonalQubitUnitary",
    _diagonal_abstract_eval,
    *_REVERSIBLE,
    Role.OF_ARRAY,
    provided_rules=IN_LANES,
)
"""A gate given by the diagonal of its matrix, with any number of controls."""

check_wires_p = define_on_register(
    "check_wires",
    "an operation",
    _check_wires_abstract_eval,
    Role.OPERATION,
    Role.RECORDED,
    provided_rules=IN_LANES,
)
"""`register, *wires -> register`: an error unless the register has these wires, each once."""

prepare_p = define_on_register(
    "prepare",
    "StatePrep",
    _prepare_abstract_eval,
    Role.OPERATION,
    Role.RECORDED,
    Role.OF_ARRAY,
    Role.START,
    provided_rules=IN_LANES,
)
"""`register, amplitudes, *wires -> register`: give wires that are in |0...0> these amplitudes."""

global_phase_p = define_on_register(
    "global_phase",
    "GlobalPhase",
    _global_phase_abstract_eval,
    *_REVERSIBLE,
    provided_rules=IN_LANES,
)
"""`register, phi -> register`: multiply by exp(-i phi)."""

measure_p = define_on_register(
    "measure",
    "measure",
    _measure_abstract_eval,
    Role.OUTCOME,
    Role.RANDOM,
    multiple_results=True,
    provided_rules=IN_LANES,
)
"""A measurement with collapse: `-> register, outcome`.

`word` has a letter for each wire: "Z" is a measurement in the computational basis, any other one of
a Pauli word, whose outcome is the parity; only words of one letter may `reset`."""


qnode_p = define_primitive(
    "qnode",
    Role.CIRCUIT,
    Role.INLINED,
    construct="QNode",
    abstract_eval=_qnode_abstract_eval,
    has_effects=True,
    rules={"vmap_of_axis": lambda *args, **params: one_more_axis(qnode_p, *args, **params)},
    provided_rules=("jvp",),
    missing_rules={"transpose": "it is linear in nothing"},
)
"""A QNode's body: classical operands and results; `jaxpr` allocates and releases its register. With
`mapped` it is of a batch (`primitives.batching`). `differentiation`, where it is not exact, is the
method by which the QNode is differentiated, with its options (`quantum.settings.diff_method`)."""
