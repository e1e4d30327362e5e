"""How QNodes are folded that are called now: set by `mitigate_with_zne`, read by their calls."""

from contextlib import AbstractContextManager
from typing import ClassVar, get_args

from diastase.capture.context import Folding, FoldingMethod, changed_settings, current_settings
from diastase_runtime.errors import CompileError

METHODS: tuple[FoldingMethod, ...] = get_args(FoldingMethod)


class NotFoldableError(CompileError, NotImplementedError):
    """An operation in a circuit that is folded, which cannot be undone.

        @qml.qnode(qml.device("default.mixed", wires=1))
        def circuit():
            qml.BitFlip(0.1, wires=0)        # noise belongs to the device
            ...
        mitigate_with_zne(circuit, scale_factors=[1, 3])

    Folding undoes operations and does them again. Noise is added to the device,
    `qml.add_noise(device, model)`; a circuit that measures in its middle can be folded locally.
    """

    title: ClassVar[str] = "Not foldable"
    message: ClassVar[str] = "{operation} cannot be undone, so the circuit cannot be folded"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = (
        "add noise to the device (qml.add_noise); fold circuits that measure by folding='local-all'"
    )
    operation: str


def folded_by(folding: Folding | None) -> AbstractContextManager[None]:
    """QNodes called inside are folded."""
    return changed_settings(folding=folding)


def current_folding() -> Folding | None:
    """How a QNode that is called now is folded; None for not at all."""
    folding = current_settings().folding
    return None if folding is None or folding.scale == 1 else folding
