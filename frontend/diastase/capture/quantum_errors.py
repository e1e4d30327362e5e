"""Errors of quantum programs: QNodes, wires, operations, `adjoint` and `ctrl`, measurements.

Those of devices that run in Python, and of QNodes with PennyLane's transforms: `device_errors`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from diastase_runtime.errors import CompileError, DiastaseError, Span


class OutsideQNodeError(CompileError, RuntimeError):
    """A quantum operation outside of any QNode, in a function being compiled.

        @qjit
        def f():
            qml.X(0)             # on which device?

    Make the function that applies it a QNode, with `@qml.qnode(device)`, and call that.
    """

    title: ClassVar[str] = "Quantum operation outside of a QNode"
    message: ClassVar[str] = "{operation} is applied on no device"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = "decorate the function that applies it with @qml.qnode(device)"
    operation: str


class OutsideProgramError(CompileError, RuntimeError):
    """`measure` called by plain Python; it works in QNodes compiled by `qjit` only.

    In uncompiled PennyLane use `qml.measure`.
    """

    title: ClassVar[str] = "Outside of a compiled program"
    message: ClassVar[str] = "{construct} works only inside a QNode that qjit compiles"
    help: ClassVar[str] = "put @qjit above @qml.qnode, or use PennyLane's own qml.measure"
    construct: str


class InvalidSettingError(DiastaseError, ValueError):
    """A setting of a QNode with a value that it cannot have.

        @qml.qnode(device, mcm_method="one-shot")        # and no shots
        def circuit(): ...

    `shots` is a positive integer, a sequence of them, or a traced integer; `mcm_method` is one of
    `one-shot` (with shots only), `single-branch-statistics`, `deferred` and `tree-traversal`;
    `postselect_mode` is `hw-like` or `fill-shots`.
    """

    title: ClassVar[str] = "Invalid setting of a QNode"
    message: ClassVar[str] = "the QNode {qnode} has {setting}: {reason}"
    qnode: str
    setting: str
    reason: str


class UnsupportedReturnError(DiastaseError, TypeError):
    """A QNode, a loop or a branch that returns what it cannot."""

    title: ClassVar[str] = "Unsupported return value"
    message: ClassVar[str] = "{function} returned {value}"
    help: ClassVar[str] = "{hint}"
    function: str
    value: str
    hint: str


class CollectiveInQNodeError(DiastaseError, NotImplementedError):
    """A collective operation of JAX over the axis of a `vmap`, inside of a QNode.

        @qml.qnode(device)
        def circuit(x):
            qml.RX(jax.lax.psum(x, "batch"), 0)

        jax.vmap(circuit, axis_name="batch")

    A batch is many runs of a QNode, none of which knows of the others. Compute what they are to
    have in common before the QNode is called, and hand it over as an argument.
    """

    title: ClassVar[str] = "A collective operation inside of a QNode"
    message: ClassVar[str] = (
        "a QNode does not know the axis {axis!r} of the batch that it is run for"
    )
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = "compute it before the QNode is called, and hand it over as an argument"
    axis: str


class UnknownWireError(DiastaseError, IndexError):
    """An operation on a wire that the device, whose wires have labels, does not have.

    Where the wires are simply numbered, the error is `WireOutOfRangeError`.
    """

    title: ClassVar[str] = "Unknown wire"
    message: ClassVar[str] = "{construct} acts on wire {wire!r}; the device has the wires {wires}"
    label: ClassVar[str] = "there is no wire {wire!r}"
    construct: str
    wire: object
    wires: object


class WireTypeError(DiastaseError, TypeError):
    """A wire that is traced but cannot number one: not an integer, or not a scalar.

    Traced wires are positions, so they also need a device whose wires are 0, 1, 2, ….
    """

    title: ClassVar[str] = "Unusable traced wire"
    message: ClassVar[str] = "{operation}: {reason}"
    label: ClassVar[str] = "applied here"
    operation: str
    reason: str


class UnknownWiresError(DiastaseError, ValueError):
    """A device without wires, and a circuit that does not say how many it needs.

        qml.device("lightning.qubit")        # no wires

    The number of qubits must be known when the program is compiled: it is the number of wires
    that the circuit names, unless a wire is traced.
    """

    title: ClassVar[str] = "Unknown number of wires"
    message: ClassVar[str] = "the device of {qnode} has no wires, and {reason}"
    help: ClassVar[str] = "give the device its wires: qml.device(name, wires=4)"
    qnode: str
    reason: str


class AllocationError(DiastaseError, RuntimeError):
    """Wires allocated with `qml.allocate` that there are not, or that are used wrongly.

        with qml.allocate(2, state="zero", restored=True) as wires:
            ...

    Allocated wires are those of the device that nothing else in the circuit names; on a device
    without wires they are new ones.
    """

    title: ClassVar[str] = "Wires cannot be allocated"
    message: ClassVar[str] = "{reason}"
    label: ClassVar[str] = "applied here"
    reason: str


class UnsupportedOperationError(CompileError, NotImplementedError):
    """A quantum operation that cannot be compiled.

    Gates are compiled by name, by their PennyLane decomposition, or by their matrix, where it is
    known at compile time. What has none of these, or a decomposition that looks at traced
    values, is refused.
    """

    title: ClassVar[str] = "Unsupported operation"
    message: ClassVar[str] = "{operation} {reason}"
    label: ClassVar[str] = "applied here"
    operation: str
    reason: str


class BatchSizeError(DiastaseError, ValueError):
    """Operators of one circuit whose parameters have batches of different sizes.

        qml.RX(jnp.zeros(3), wires=0)
        qml.RY(jnp.zeros(2), wires=0)

    A QNode is run once for each element of the batch, so there can be one size only.
    """

    title: ClassVar[str] = "Batch sizes differ"
    message: ClassVar[str] = (
        "{operation} has a batch of {size} parameters, another operator {others}"
    )
    label: ClassVar[str] = "applied here"
    operation: str
    size: Any
    others: Any


class ParameterTypeError(DiastaseError, TypeError):
    """A gate parameter that is no real number, or a matrix of the wrong shape."""

    title: ClassVar[str] = "Bad parameter"
    message: ClassVar[str] = "{operation}: {reason}"
    label: ClassVar[str] = "applied here"
    operation: str
    reason: str


class AlreadyAppliedError(DiastaseError, RuntimeError):
    """An operator that was applied already is used as part of another.

        op = qml.RX(x, 0)

        @for_loop(0, 3, 1)
        def body(i):
            qml.adjoint(op)      # takes op back, outside of the loop

    PennyLane un-applies an operator that becomes part of another one; a loop or branch cannot do
    that to what is outside of it. Make a new operator there. To apply one object several times,
    use `qml.apply`, which copies it.
    """

    title: ClassVar[str] = "Operator already applied"
    message: ClassVar[str] = (
        "{operation} was applied before, and can neither be applied again nor become part of "
        "another operator or of an observable here"
    )
    label: ClassVar[str] = "used again here"
    help: ClassVar[str] = "build a new operator here, or apply a copy with qml.apply"
    operation: str


class ForeignRegionError(DiastaseError, NotImplementedError):
    """A quantum operation inside a function that something else than diastase calls.

    Inside `jax.grad`, `jax.jvp`, …, operations would be applied a wrong number of times, so they
    are refused. `jax.lax.cond`, `switch`, `while_loop`, `fori_loop`, `scan`, `map` and `jax.vmap`
    may contain operations if they are looked up where JAX has them: `jax.lax.scan(…)`, not
    `from jax.lax import scan` before diastase is imported.

    Inside a quantum function that PennyLane turns into an operator or a tape (`qml.prod`,
    `qml.matrix`), loops, branches and `measure` of diastase have no place. `adjoint` and `ctrl`
    take functions with loops and branches.
    """

    title: ClassVar[str] = "Not supported yet"
    message: ClassVar[str] = "{operation} inside {region}"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = "{hint}"
    operation: str
    region: str
    hint: str


@dataclass(frozen=True)
class ForeignRegion:
    """A kind of function that something else than diastase calls, and what to do instead."""

    description: str
    hint: str

    def refusal(self, operation: str, span: Span | None = None) -> ForeignRegionError:
        """The error for an operation in it."""
        return ForeignRegionError(
            operation=operation, region=self.description, hint=self.hint, span=span
        )


class MeasurementInsideError(DiastaseError, ValueError):
    """A measurement inside of a function that is given to `adjoint` or `ctrl`.

        def f():
            qml.Hadamard(0)
            measure(0)           # cannot be undone

        adjoint(f)()

    A measurement is not unitary: it has no adjoint and no controlled form. Measure before or after
    the function. For operations that depend on an outcome, use `cond` around `adjoint` or `ctrl`.
    """

    title: ClassVar[str] = "A measurement has no {outer}"
    message: ClassVar[str] = "{construct} is called inside of a function given to {outer}"
    label: ClassVar[str] = "measured here"
    help: ClassVar[str] = "measure before or after the function"
    construct: str
    outer: str


class NotInvertibleError(CompileError, NotImplementedError):
    """An operation inside of a function given to `adjoint` that has none.

    What prepares a state, say, forgets the state before it.
    """

    title: ClassVar[str] = "No adjoint"
    message: ClassVar[str] = "{operation} has no adjoint"
    label: ClassVar[str] = "applied here, in a function given to adjoint"
    operation: str


class UnrepeatableError(DiastaseError, NotImplementedError):
    """A QNode called in a loop or branch of a function given to `adjoint`.

    Undoing a loop, its classical values are computed again; a circuit that measures would give
    others. Call the QNode before, and use its result in the loop.
    """

    title: ClassVar[str] = "Not supported yet"
    message: ClassVar[str] = (
        "{construct} is called in a loop or branch of a function given to adjoint"
    )
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "call it before the loop, and use its result inside"
    construct: str


class NotAQuantumFunctionError(DiastaseError, ValueError, TypeError):
    """`adjoint` or `ctrl` of what is neither an operator nor a function that applies operators.

        adjoint([qml.X(0), qml.Y(1)])            # a list

    Give it a function: `adjoint(lambda: [qml.X(0), qml.Y(1)])()`.
    """

    title: ClassVar[str] = "Not an operator or function"
    message: ClassVar[str] = "{construct} takes an operator or a function that applies operators"
    label: ClassVar[str] = "given {found}"
    construct: str
    found: str


class ControlValuesError(DiastaseError, ValueError, TypeError):
    """Control values of `ctrl` that do not fit its control wires.

    One 0 or 1 (or boolean) for each control wire: `ctrl(f, control=[0, 1], control_values=[1, 0])`.
    Values known only when the program runs are for quantum functions: `ctrl(lambda: qml.X(2), …)()`
    in place of `ctrl(qml.X(2), …)`.
    """

    title: ClassVar[str] = "Bad control values"
    message: ClassVar[str] = "{reason}"
    label: ClassVar[str] = "controlled here"
    help: ClassVar[str] = "{hint}"
    reason: str
    hint: str


class UnsupportedMeasurementError(CompileError, NotImplementedError):
    """A measurement that cannot be made, as it is or with the shots that the QNode has.

    `sample`, `counts`, `classical_shadow` and `shadow_expval` need shots; `state`,
    `density_matrix`, `purity`, `vn_entropy` and `mutual_info` are properties of the exact state;
    `expval`, `var` and `probs` are made with shots or without.
    """

    title: ClassVar[str] = "Unsupported measurement"
    message: ClassVar[str] = "{measurement} {reason}"
    help: ClassVar[str] = "{hint}"
    measurement: str
    reason: str
    hint: str = "samples, counts and shadows need shots; states, purities and entropies have none"


class UnsupportedObservableError(CompileError, NotImplementedError):
    """An observable that cannot be compiled."""

    title: ClassVar[str] = "Unsupported observable"
    message: ClassVar[str] = "{observable} {reason}"
    observable: str
    reason: str


class StarredCountsError(DiastaseError, TypeError):
    """Counts given to a function with a star: `zip(*circuit())`, `plt.bar(*circuit())`.

    To a dictionary's user these are its keys, to Catalyst's the two arrays, so neither is chosen.

        outcomes, numbers = circuit()                    # Catalyst's arrays
        plt.bar(*qjit(counts="arrays")(circuit)())       # the same, as a tuple
        zip(*circuit().items())                          # PennyLane's bit strings, and numbers
    """

    title: ClassVar[str] = "Keys or arrays"
    message: ClassVar[str] = "counts with a star may mean {keys}, or Catalyst's pair of arrays"
    label: ClassVar[str] = "here"
    help: ClassVar[str] = "write *counts.keys(), or unpack them first: outcomes, numbers = counts"
    keys: str
