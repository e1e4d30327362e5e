"""Which of the programs in a file serve a call, by structure, types and static values.

In: what the manifest says of the programs, and the leaves of the arguments. Out: the programs'
numbers, the one that fits best first; or the error that none does. Nothing of the file is run, so
that a batch can be compared with a function that is to run on other computers.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from diastase_runtime.arrays import dlpack
from diastase_runtime.arrays.memref import numpy_dtype
from diastase_runtime.calls.static_arguments import Static, typed_key
from diastase_runtime.saved.errors import UnservedArgumentsError, UnsharedArgumentError
from diastase_runtime.saved.manifest import LeafType, Manifest, SavedProgram
from diastase_runtime.saved.pytrees import Structure, builder

NUMBERS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
"""What a number of Python's is, where no type says otherwise."""


def serving(
    programs: Sequence[SavedProgram], structure: Structure, static: Static, leaves: Sequence[Any]
) -> list[int]:
    """Numbers of the programs for such a call; several if each holds for some sizes only."""
    of_static = typed_key(static)
    fitting: list[tuple[int, int]] = []
    for number, program in enumerate(programs):
        if program.in_structure == structure and typed_key(program.static) == of_static:
            misfits = _misfits(program.arguments, leaves)
            if misfits is not None:
                fitting.append((misfits, number))
    return [number for _, number in sorted(fitting)]


def unserved(
    manifest: Manifest, structure: Structure, static: Static, leaves: Sequence[Any]
) -> UnservedArgumentsError:
    """The error of a call that no program serves."""
    return UnservedArgumentsError(
        function=manifest.name,
        given=_given(structure, static, leaves, manifest.parameters or ()),
        programs="\n".join(f"    {program}" for program in manifest.programs),
    )


def leaf_key(leaves: list[Any], place: int) -> Hashable:
    """What of a leaf decides which program serves it; what is no array becomes one."""
    leaf = leaves[place]
    kind = type(leaf)
    if kind in NUMBERS:
        return kind
    if kind is not np.ndarray:
        if isinstance(leaf, np.ndarray) and hasattr(leaf, "mask"):
            return kind  # which no program takes
        leaf = leaves[place] = as_array(leaf)
    return leaf.shape, leaf.dtype


def as_array(leaf: Any) -> np.ndarray:
    """An array of what is none of NumPy's: on its memory where it says where that is."""
    if not dlpack.is_exchanged(leaf):
        return np.asarray(leaf)
    try:
        return dlpack.view(leaf)
    except dlpack.NotSharedError as error:
        try:  # arrays of JAX have types that NumPy does not read by DLPack: bfloat16
            return leaf.__array__()
        except Exception:
            kind = type(leaf).__qualname__
            raise UnsharedArgumentError(type=kind, reason=error.reason) from error


def _misfits(types: Sequence[LeafType], leaves: Sequence[Any]) -> int | None:
    """How many of the leaves are weakly typed, or not, other than the program was traced for.

    None where one is of another type, or sizes do not fit each other.
    """
    sizes: dict[str, int] = {}
    misfits = 0
    for wanted, leaf in zip(types, leaves, strict=True):
        number = NUMBERS.get(type(leaf))
        if number is not None:
            dtype: Any = numpy_dtype(wanted.dtype)
            weakly = wanted.weak and dtype.kind == np.dtype(number).kind
            if wanted.shape or not (weakly or wanted.dtype == number):
                return None
        elif leaf.dtype != numpy_dtype(wanted.dtype) or leaf.ndim != len(wanted.shape):
            return None
        elif hasattr(leaf, "mask"):
            return None
        else:
            for size, given in zip(wanted.shape, leaf.shape, strict=True):
                if given != (sizes.setdefault(size, given) if isinstance(size, str) else size):
                    return None
        misfits += wanted.weak != (number is not None)
    return misfits


class _Text(str):
    """Prints as it is, also inside of a pytree."""

    __slots__ = ()
    __repr__ = str.__str__


def _given(
    structure: Structure, static: Static, leaves: Sequence[Any], parameters: Sequence[str]
) -> str:
    """The arguments of a call as types, in their places."""
    texts = [_Text(type(leaf).__name__) for leaf in leaves]
    for place, leaf in enumerate(leaves):
        if type(leaf) is np.ndarray:
            texts[place] = _Text(LeafType(str(leaf.dtype), leaf.shape))
    args, kwargs = builder(structure)(texts)
    words: dict[int | str, str] = dict(enumerate(parameters))
    named = [*kwargs.items(), *((words.get(place, str(place)), value) for place, value in static)]
    return ", ".join([*map(repr, args), *(f"{name}={value!r}" for name, value in named)])
