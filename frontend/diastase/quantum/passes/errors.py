"""Errors about passes of the frontend's."""

from typing import ClassVar

from diastase_runtime.errors import CompileError


class NeedsShotsError(CompileError, ValueError):
    """A pass that is about samples, of a QNode without shots.

    @diastase.passes.measurements_from_samples
    @qml.qnode(device)          # qml.set_shots(shots=1000) is missing
    def circuit(): ...
    """

    title: ClassVar[str] = "No shots"
    message: ClassVar[str] = "the pass {name} needs shots, and the QNode has none"
    help: ClassVar[str] = "give the QNode shots: qml.set_shots"
    name: str


class GateSetError(CompileError, ValueError):
    """An operator that cannot be made of the gates of a set.

        @diastase.passes.graph_decomposition(gate_set={"RX", "CNOT"})
        @qml.qnode(device)
        def circuit(x):
            qml.RY(x, wires=0)      # RX and CNOT do not make it
            ...

    Rules are those of PennyLane's graph, and those given by `fixed_decomps` and `alt_decomps`. Some
    need work wires (`num_work_wires`).
    """

    title: ClassVar[str] = "Not made of this gate set"
    message: ClassVar[str] = "the pass {name} finds no way to make {operation} of {gates}"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = (
        "add gates to gate_set, rules (alt_decomps) or work wires (num_work_wires)"
    )
    name: str
    operation: str
    gates: str


class ApproximationError(CompileError, ValueError):
    """No word of Clifford gates and T was found that is as near to a rotation as asked for.

        @diastase.passes.gridsynth(epsilon=1e-12)
        @qml.qnode(device)
        def circuit():
            qml.RZ(0.3, wires=0)
            ...

    The search (Ross and Selinger, arXiv:1403.2975) is PennyLane's, in double precision.
    """

    title: ClassVar[str] = "No approximation that is near enough"
    message: ClassVar[str] = (
        "gridsynth finds nothing nearer to a rotation by {angle} than {distance:.1e}, "
        "and {epsilon} was asked for"
    )
    help: ClassVar[str] = "give gridsynth a larger epsilon"
    angle: float
    epsilon: float
    distance: float


class PassPluginError(CompileError, ValueError):
    """Something that is no plugin of passes.

        @diastase.passes.apply_pass_plugin("passes.so", "my_pass")
        @qml.qnode(device)
        def circuit(): ...

    A plugin is a Python file, or a folder with an `__init__.py`, that calls
    `diastase.passes.register_pass`.
    """

    title: ClassVar[str] = "Not a plugin of passes"
    message: ClassVar[str] = "{path}: {reason}"
    help: ClassVar[str] = "give the path of a Python file that calls diastase.passes.register_pass"
    path: str
    reason: str
