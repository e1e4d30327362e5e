"""The one error of the kernel language: a kernel of ours is not written in it."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class KernelLanguageError(DiastaseError, TypeError):
    """A construct that the kernel language lacks, or values of types that do not fit.

    It shows the line of the kernel. Users never meet it: kernels are part of diastase.
    """

    title: ClassVar[str] = "Not in the kernel language"
    message: ClassVar[str] = "{what}"
    help: ClassVar[str] = "{advice}"
    what: str
    advice: str = "see the module diastase_engine.language"
