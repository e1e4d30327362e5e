"""Errors of saved functions: files that are none, other computers, arguments that do not fit."""

from pathlib import Path
from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class NotASavedFunctionError(DiastaseError, ValueError):
    """`diastase_runtime.load` was given a file that `save` has not written."""

    title: ClassVar[str] = "Not a saved function"
    message: ClassVar[str] = "{file} was not written by `save` of a compiled function"
    file: Path


class DamagedFileError(DiastaseError, ValueError):
    """A saved function is not what was written: cut short, or altered.

    Nothing of it was loaded. Copy the file again, or save the function again. Checksums find
    damage; they do not say who wrote a file.
    """

    title: ClassVar[str] = "Damaged file"
    message: ClassVar[str] = "{file}: {reason}"
    help: ClassVar[str] = "copy the file again, or save the function again"
    file: Path
    reason: str


class SavedVersionError(DiastaseError, ValueError):
    """A saved function was written by a version of diastase that another one cannot load.

    Machine code and runtime agree on how they call each other, by a number that both have. Save the
    function again, or install the version that the message names.
    """

    title: ClassVar[str] = "Another version"
    message: ClassVar[str] = "{file} was saved by {saved}; this is {this}"
    help: ClassVar[str] = "save the function again, or install the version that saved it"
    file: Path
    saved: str
    this: str


class MissingProcessorFeaturesError(DiastaseError, OSError):
    """A saved function has no machine code for this computer.

    It is made for the processor that saved it, unless `save` was asked for another target. Save it
    on a processor like this one.
    """

    title: ClassVar[str] = "Made for other processors"
    message: ClassVar[str] = "{file} has machine code for {targets}; this computer {reason}"
    file: Path
    targets: str
    reason: str


class MissingPackageError(DiastaseError, ImportError):
    """A saved function needs a package that is not installed.

    SciPy where it calls LAPACK or BLAS, `ml_dtypes` where it has arrays of `bfloat16`; nothing
    else but NumPy.
    """

    title: ClassVar[str] = "Missing package"
    message: ClassVar[str] = "{function} needs the package {package}, which is not installed"
    help: ClassVar[str] = "pip install {package}"
    function: str
    package: str


class UnservedArgumentsError(DiastaseError, TypeError):
    """A saved function has no program for these arguments; nothing is compiled where it is loaded.

        f.save("f.diastase")                          # f was called with float64[3]
        diastase_runtime.load("f.diastase")(np.ones(4))

    Save programs for these types, too: call the function with them before, or name them
    (`save(path, types=…)`), with symbols for sizes that may be any (`"f64[n]"`).
    """

    title: ClassVar[str] = "No program for these arguments"
    message: ClassVar[str] = "{function} was called with ({given}); it was saved for\n{programs}"
    function: str
    given: str
    programs: str


class UnsharedArgumentError(DiastaseError, TypeError):
    """A saved function was called with an array of another package that NumPy cannot see.

        diastase_runtime.load("f.diastase")(tensor.cuda())

    It takes what shares its memory by DLPack: on this computer, not on a device, of a type that
    NumPy has, and without a graph of derivatives: `tensor.detach().cpu()`.
    """

    title: ClassVar[str] = "Memory that is not shared"
    message: ClassVar[str] = "an argument is a {type}, which NumPy cannot see: {reason}"
    help: ClassVar[str] = "pass an array of this computer's memory, as tensor.detach().cpu() is one"
    type: str
    reason: str


class UnnamedArgumentsError(DiastaseError, ValueError):
    """`run` was given arrays whose names are not those of the arguments of any program.

    `inspect` shows the names. Each array in the archive has the name of an argument, or of its
    place in one: `numpy.savez("arguments.npz", **{"x": x, "params['w']": w})`.
    """

    title: ClassVar[str] = "Other names"
    message: ClassVar[str] = "{function} was given {given}; it was saved for\n{programs}"
    function: str
    given: str
    programs: str
