"""Arrays of other packages, which say where their memory is by DLPack: views of it by NumPy's.

In: anything with `__dlpack__` and `__dlpack_device__`, a tensor of PyTorch's, say. Out: an array of
NumPy's on the same memory, strides and all; nothing is copied.

The trap: the memory belongs to both from here on, as a NumPy array does that is an argument.
"""

from typing import Any

import numpy as np

_ON_THIS_COMPUTER = (1, 3, 11)
"""DLPack's numbers of devices: memory of the processor, and that which CUDA or ROCm have pinned."""

_DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 14: "oneAPI"}


class NotSharedError(Exception):
    """The memory is none that NumPy can see; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def is_exchanged(leaf: Any) -> bool:
    """Whether something is an array of another package, which says where its memory is."""
    return hasattr(leaf, "__dlpack__") and not isinstance(leaf, np.ndarray | type)


def view(leaf: Any) -> np.ndarray:
    """The NumPy array on the memory of another one; `NotSharedError` where there can be none."""
    try:
        device = int(leaf.__dlpack_device__()[0])
    except Exception as error:
        raise NotSharedError(f"it does not say where its memory is ({error})") from error
    if device not in _ON_THIS_COMPUTER:
        name = _DEVICES.get(device, f"number {device} of DLPack")
        raise NotSharedError(f"its memory is on a device: {name}")
    try:
        return np.from_dlpack(leaf)
    except Exception as error:  # packages have errors of their own for what DLPack cannot say
        raise NotSharedError(str(error).rstrip(".")) from error
