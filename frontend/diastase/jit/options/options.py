"""Options of `qjit`: one table, read once, checked, and from then on a frozen value.

An option is a line of `QjitOptions` (what reads the user's value, and the default) and a line of
`Keywords` (what it takes, for editors and type checkers). What reads a value is a function
`(option, value) -> value`, which raises an error with what the option takes.

`capture` chooses between two frontends of Catalyst's, each of which takes programs that the other
refuses. There is one here, which takes both kinds: the three values are checked, and mean the same.

The trap: any other option that Catalyst has and this version does not know how to honour must be
refused when it is given a value that would change anything, never ignored.
"""

import copy
import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO, TypedDict, Unpack, cast

import jax
import numpy as np

import diastase_mlir
from diastase.capture.context import METHODS, SimulationMethod
from diastase.jit.options.abstracted_axes import AbstractedAxes, read_abstracted_axes
from diastase.jit.options.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    UnknownOptionError,
    UnsupportedOptionError,
)
from diastase_mlir.diagnostics import at, user_span
from diastase_mlir.options import file_name
from diastase_runtime.arrays.counts import CountsForm
from diastase_runtime.gpu import find_gpu, why_no_gpu
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.jit.options import pipelines
    from diastase.quantum.passes import plugins
    from diastase_mlir import PassCall
else:
    plugins = LazyModule("diastase.quantum.passes.plugins")
    pipelines = LazyModule("diastase.jit.options.pipelines")

Reader = Callable[[str, Any], Any]

INTERMEDIATE: dict[Any, str] = {
    None: "none", "none": "none", False: "none",  # also 0
    True: "stage", "stage": "stage", "pipeline": "stage",  # also 1
    2: "changed", "changed": "changed", 3: "pass", "pass": "pass",
}  # fmt: skip


def is_array(value: Any) -> bool:
    """Whether a value is an array, which is neither true nor false, and no option's value."""
    return isinstance(value, np.ndarray | jax.Array)


def flag(option: str, value: Any) -> bool:
    """Read True or False; None is False, as in Catalyst."""
    if value is None or isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidOptionError(option=option, value=repr(value), allowed="True or False")


def one_of(*allowed: Any) -> Reader:
    """Make what reads one of these values."""
    return named({value: value for value in allowed})


def named(table: Mapping[Any, Any]) -> Reader:
    """Make what looks values up; several may mean the same."""

    def read(option: str, value: Any) -> Any:
        try:
            return table[value]
        except (KeyError, TypeError):
            allowed = ", ".join(repr(key) for key in table)
            raise InvalidOptionError(option=option, value=repr(value), allowed=allowed) from None

    return read


def only(default: Any, *, instead: str) -> Reader:
    """Make what refuses everything but the default (and nothing), and says what to use instead."""

    def read(option: str, value: Any) -> Any:
        if not is_array(value) and (value == default or not (value or default)):
            return default
        raise UnsupportedOptionError(option=option, value=repr(value), instead=instead)

    return read


def seed_number(option: str, value: Any) -> int | None:
    """Read a number that 32 bits can hold, or none."""
    if value is None:
        return None
    number = None if isinstance(value, bool | np.bool_) else _integer(value)
    if number is None or not 0 <= number < 2**32:
        allowed = "None or an unsigned 32-bit integer, from 0 to 2**32 - 1"
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed)
    return number


def count(option: str, value: Any) -> int | None:
    """Read a positive number, or none."""
    if value is None:
        return None
    number = None if isinstance(value, bool | np.bool_) else _integer(value)
    if number is None or number < 1:
        allowed = "None or a positive integer"
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed)
    return number


def writable(option: str, value: Any) -> Any:
    """Read something to write text to, or none."""
    if value is None or hasattr(value, "write"):
        return value
    raise InvalidOptionError(option=option, value=repr(value), allowed="an open text file, or None")


def positions(option: str, value: Any) -> tuple[int, ...]:
    """Read one number or several."""
    found = [_integer(item) for item in _several(value)]
    if None in found:
        allowed = "the position of an argument, or several in a tuple"
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed)
    return tuple(number for number in found if number is not None)


def names(option: str, value: Any) -> tuple[str, ...]:
    """Read one name or several."""
    found = _several(value)
    if any(not isinstance(item, str) for item in found):
        allowed = "the name of an argument, or several in a tuple"
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed)
    return found


def modules(option: str, value: Any) -> tuple[str, ...]:
    """Read modules or their names, in a list."""
    found = () if value is None or isinstance(value, str) else _several(value)
    read = tuple(part.__name__ if isinstance(part, ModuleType) else part for part in found)
    if isinstance(value, str) or any(not isinstance(part, str) for part in read):
        allowed = "a list of modules, or of their names"
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed)
    return read


def _several(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    single = isinstance(value, str) or not isinstance(value, Iterable)
    return (value,) if single else tuple(value)


def _integer(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        return None


Target = Literal["jaxpr", "mlir", "llvmir", "binary"]
Dynamic = Literal["auto", "none"]
Precision = Literal["double", "single"]
TargetDevice = Literal["cpu", "gpu", "auto"]
_OWN_PASSES = "passes are functions in Python here: diastase.passes.register_pass"
_NO_PREPROCESSING = "leave it out: the engine runs circuits as they are; other devices need theirs"
_RULES_ON_DEMAND = "leave it out: decompositions are found only where a gate needs one"


def _passes(option: str, value: Any) -> "tuple[PassCall, ...]":
    """The passes asked for; without any, nothing about them is imported."""
    return plugins.read_pipeline(value) if is_array(value) or value else ()


def _plugins(option: str, value: Any) -> Any:
    """Files that register passes: one, or several."""
    if value is None:
        return None
    given = [value] if isinstance(value, str | Path) or not isinstance(value, Iterable) else value
    for each in given:
        plugins.load_plugin(each)
    return value


def _pipelines(option: str, value: Any) -> Any:
    return pipelines.read_pipelines(value) if is_array(value) or value else None


def _axes(option: str, value: Any) -> AbstractedAxes | None:
    return read_abstracted_axes(value)


@dataclass(frozen=True, init=False)
class QjitOptions:
    """What the user asked of `qjit`; public as `diastase.CompileOptions`, Catalyst's name.

    Options are those of `qjit`, by name, with the same defaults, and are checked when this is made.
    `f.compile_options` is one.

    Raises:
        InvalidOptionError: a `ValueError`, for a value that an option does not take;
            `UnsupportedOptionError`, `UnknownOptionError`, `ConflictingOptionsError` likewise.

    Example:
        >>> from diastase import CompileOptions
        >>> CompileOptions(seed=3).seed
        3

    """

    autograph: Annotated[bool, flag] = False
    autograph_include: Annotated[Sequence[Any], modules] = ()
    """Read: names of modules."""
    async_qnodes: Annotated[bool, flag] = False
    target: Annotated[Target, one_of("binary", "llvmir", "mlir", "jaxpr")] = "binary"
    keep_intermediate: Annotated[Any, named(INTERMEDIATE)] = False
    """Read: `"none"`, `"stage"`, `"changed"` or `"pass"`."""
    use_nameloc: Annotated[bool, flag] = False
    verbose: Annotated[bool, flag] = False
    logfile: Annotated[TextIO | None, writable] = None
    pipelines: Annotated[Any, _pipelines] = None
    static_argnums: Annotated[tuple[int, ...] | None, positions] = None
    static_argnames: Annotated[tuple[str, ...] | None, names] = None
    abstracted_axes: Annotated[AbstractedAxes | None, _axes] = None
    disable_assertions: Annotated[bool, flag] = False
    seed: Annotated[int | None, seed_number] = None
    circuit_transform_pipeline: Annotated["tuple[PassCall, ...] | None", _passes] = None
    pass_plugins: Annotated[Any, _plugins] = None
    dialect_plugins: Annotated[Any, only(None, instead=_OWN_PASSES)] = None
    capture: Annotated[bool | Literal["global"], one_of("global", True, False)] = "global"
    skip_preprocess: Annotated[bool, only(False, instead=_NO_PREPROCESSING)] = False
    collect_decomp_rules: Annotated[bool, only(True, instead=_RULES_ON_DEMAND)] = True
    link: Annotated[bool, only(True, instead="target='llvmir' stops before the linker")] = True
    lower_to_llvm: Annotated[bool, only(True, instead="target='mlir' stops before LLVM")] = True
    checkpoint_stage: Annotated[str, only("", instead="diastase.debug.replace_ir goes on")] = ""
    dynamic_dims: Annotated[Dynamic | None, one_of("auto", "none", None)] = None
    counts: Annotated[CountsForm, one_of("dict", "arrays")] = "dict"
    precision: Annotated[Precision, one_of("double", "single")] = "double"
    target_device: Annotated[TargetDevice, one_of("cpu", "gpu", "auto")] = "cpu"
    method: Annotated[SimulationMethod | None, one_of(None, *METHODS)] = None
    trajectories: Annotated[int | None, count] = None
    directory: Path | None = field(default=None, init=False)
    """Where the folders of intermediate IR are made, if there are to be any."""

    def __init__(self, **given: "Unpack[Keywords]") -> None:
        with at(user_span()):
            self._read(given)

    def _read(self, given: Mapping[str, Any]) -> None:
        for option in given.keys() - _READERS.keys():
            near = get_close_matches(option, _READERS)
            allowed = " or ".join(near) if near else ", ".join(_READERS)
            raise UnknownOptionError(option=option, allowed=allowed)
        values = vars(self)
        for option in sorted(_TABLE, key=lambda option: option.name != "pass_plugins"):
            value = given.get(option.name, option.default)
            values[option.name] = _READERS[option.name](option.name, value)
        values["directory"] = None
        if self.keep_intermediate != "none":
            values["directory"] = Path.cwd()
        if self.autograph_include and not self.autograph:
            raise ConflictingOptionsError(
                first="autograph_include", second="autograph=False", advice="pass autograph=True"
            )
        if self.async_qnodes and self.seed is not None:
            raise ConflictingOptionsError(
                first="async_qnodes", second="seed", advice="leave one of them out"
            )

    def but(self, **read: Any) -> "QjitOptions":
        """The same options but for some, whose values have been read already."""
        changed = copy.copy(self)
        vars(changed).update(read)
        return changed

    def for_compiler(self, name: str) -> diastase_mlir.CompileOptions:
        """What the compiler is to know, for a function of this name."""
        workspace = self.directory and self.directory / file_name(name)
        return diastase_mlir.CompileOptions(
            self.keep_intermediate,
            workspace,
            self.pipelines,
            self.use_nameloc,
            on_gpu=is_on_gpu(self.target_device),
        )

    @property
    def circuit_passes(self) -> "tuple[PassCall, ...]":
        """Passes for QNodes that ask for none themselves."""
        return self.circuit_transform_pipeline or ()

    @property
    def learns_sizes(self) -> bool:
        """Whether a size that has changed is dynamic from then on."""
        return self.dynamic_dims == "auto"

    @property
    def single(self) -> bool:
        """Whether all QNodes have amplitudes in single precision."""
        return self.precision == "single"

    @property
    def report(self) -> Callable[[str], None]:
        """The function that takes a line about a step of the compilation."""
        if not self.verbose:
            return _silent
        return lambda line: print(line, file=self.logfile or sys.stderr)


def is_on_gpu(target_device: TargetDevice) -> bool:
    """Whether state vectors are to be on a GPU; an error where that must be and cannot."""
    if target_device == "auto":
        return not why_no_gpu()
    if target_device == "gpu":
        find_gpu()
    return target_device == "gpu"


CompileOptions = QjitOptions
"""Catalyst's name."""

_TABLE = [option for option in fields(QjitOptions) if option.init]
_READERS: dict[str, Reader] = {
    option.name: cast("Any", option.type).__metadata__[0] for option in _TABLE
}


class Keywords(TypedDict, total=False):
    """The options as they are given; what each does: `qjit`, `docs/options.md`."""

    autograph: bool
    autograph_include: Sequence[Any]
    async_qnodes: bool
    target: Target
    keep_intermediate: bool | int | str | None
    use_nameloc: bool
    verbose: bool
    logfile: TextIO | None
    pipelines: Any
    static_argnums: int | Iterable[int] | None
    static_argnames: str | Iterable[str] | None
    abstracted_axes: Any
    disable_assertions: bool
    seed: int | None
    circuit_transform_pipeline: Mapping[str, Mapping[str, Any]] | Sequence[Any] | None
    pass_plugins: Any
    dialect_plugins: Any
    capture: bool | Literal["global"]
    skip_preprocess: bool
    collect_decomp_rules: bool
    link: bool
    lower_to_llvm: bool
    checkpoint_stage: str
    dynamic_dims: Dynamic | None
    counts: CountsForm
    precision: Precision
    target_device: TargetDevice
    method: SimulationMethod | None
    trajectories: int | None


def option_parameters() -> list[inspect.Parameter]:
    """The options as parameters, for the signature of `qjit`."""
    return [
        inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
        for option in _TABLE
    ]


QjitOptions.__signature__ = inspect.Signature(option_parameters())  # pyright: ignore[reportAttributeAccessIssue]


def _silent(line: str) -> None:
    """Without `verbose`, nothing is said."""
