"""Errors of saving compiled functions: what no file can hold, and files that cannot be written."""

from pathlib import Path
from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class UnsavableError(DiastaseError, TypeError):
    """Something of a compiled function that no file can hold.

        f(Parameters(w=w)); f.save("f.diastase")     # Parameters is a class of the user's

    A file has tuples, named tuples, lists, dictionaries and None, with keys and static values that
    are numbers, texts, None and tuples of them: where it is loaded there are neither JAX nor the
    user's classes, and nothing is read that could run Python code.
    """

    title: ClassVar[str] = "Cannot be saved"
    message: ClassVar[str] = "{function}: {what}"
    help: ClassVar[str] = "{advice}"
    function: str
    what: str
    advice: str


class NothingToSaveError(DiastaseError, ValueError):
    """`save` of a function that has not been compiled for any arguments.

    qjit(f).save("f.diastase")
    """

    title: ClassVar[str] = "Nothing to save"
    message: ClassVar[str] = "{function} has not been compiled yet"
    help: ClassVar[str] = "call {function} first, or say for which types: save(path, types=…)"
    function: str


class AmbiguousProgramsError(DiastaseError, ValueError):
    """A function has two programs for the same arguments, of which a file can have one only.

    They were compiled under different settings of JAX, or while the object of a method was in
    another state: nothing in a call of the saved function would say which is meant.
    """

    title: ClassVar[str] = "Two programs for the same arguments"
    message: ClassVar[str] = "{function} has two programs for {arguments}"
    help: ClassVar[str] = (
        "{function}.clear_cache() and call it again, or name the types: save(path, types=…)"
    )
    function: str
    arguments: str


class SaveError(DiastaseError, OSError):
    """A saved function could not be written: no folder, no permission, no space.

    A file that was there before is as it was.
    """

    title: ClassVar[str] = "Cannot save"
    message: ClassVar[str] = "{file}: {reason}"
    file: Path
    reason: str


class InvalidTypesError(DiastaseError, ValueError):
    """`save(path, types=…)` with something that names no types.

    f.save("f.diastase", types="f64[n,2], i64")          # of each argument
    f.save("f.diastase", types=({"w": "f64[n]"}, "i64")) # in their pytrees
    f.save("f.diastase", types={"x": "f64[3]"})          # by name

    An element type (`f64`, `float64`, `i32`, `c128`, `bool`, …), and in brackets its sizes:
    numbers, or names of sizes that are known when the function is called; equal names are equal
    sizes.
    """

    title: ClassVar[str] = "Invalid types"
    message: ClassVar[str] = "{text} {problem}"
    help: ClassVar[str] = "types are written as 'f64[n,2]': element type, and sizes or their names"
    text: str
    problem: str


class NoFunctionError(DiastaseError, ValueError):
    """`python -m diastase compile` was given a name that leads to no function.

        python -m diastase compile models.h2:energy --types "f64[n]"

    What stands before the colon is imported, from the working directory, too; what stands behind is
    looked up in it.
    """

    title: ClassVar[str] = "No such function"
    message: ClassVar[str] = "{name}: {reason}"
    help: ClassVar[str] = "name a function as module:function"
    name: str
    reason: str


class ChooseProgramError(DiastaseError, ValueError):
    """`python -m diastase export` of a saved function with several programs.

        python -m diastase export f.diastase --c folder --program 2

    A function of C has one signature; `--program` says which of the programs it is.
    """

    title: ClassVar[str] = "Which program?"
    message: ClassVar[str] = "{function} was saved for\n{programs}"
    help: ClassVar[str] = "say which with --program"
    function: str
    programs: str
