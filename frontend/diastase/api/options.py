"""Options of `qjit`: read once, checked, and from then on a frozen value.

The trap: an option that Catalyst has and this version does not know how to honour must be refused
when it is given a value that would change anything, never ignored.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

import diastase_mlir
from diastase.api.abstracted_axes import AbstractedAxes, read_abstracted_axes
from diastase.api.errors import InvalidOptionError, UnknownOptionError, UnsupportedOptionError
from diastase_mlir import CompileOptions

if TYPE_CHECKING:
    from diastase_mlir import PassCall

Target = Literal["jaxpr", "mlir", "llvmir", "binary"]
CountsForm = Literal["dict", "arrays"]
_COUNTS: dict[Any, CountsForm] = {"dict": "dict", "arrays": "arrays"}
_TARGETS = ("jaxpr", "mlir", "llvmir", "binary")

_INTERMEDIATE: dict[Any, Literal["none", "stage", "pass"]] = {
    None: "none", "none": "none", False: "none",  # also 0
    True: "stage", "stage": "stage", "pipeline": "stage",  # also 1
    2: "pass", "changed": "pass", 3: "pass", "pass": "pass",
}  # fmt: skip
_IS_SINGLE: dict[Any, bool] = {"double": False, "single": True}
_DYNAMIC: dict[Any, bool] = {None: False, "none": False, "auto": True}
_KEYWORDS = (
    "keep_intermediate", "verbose", "logfile", "static_argnums", "static_argnames", "seed",
    "target", "abstracted_axes", "dynamic_dims", "counts",
    "precision",    "circuit_transform_pipeline",
)  # fmt: skip
_LATER: dict[str, Any] = {
    "autograph": False,
    "autograph_include": (),
    "async_qnodes": False,
    "use_nameloc": False,
    "pipelines": None,
    "disable_assertions": False,
    "pass_plugins": None,
    "dialect_plugins": None,
    "capture": "global",
    "skip_preprocess": False,
    "collect_decomp_rules": True,
}
"""Catalyst's other options, with the values at which they change nothing."""


@dataclass(frozen=True)
class QjitOptions:
    """What the user asked of `qjit`, apart from static arguments."""

    compile: CompileOptions
    target: Target = "binary"
    seed: int | None = None
    verbose: bool = False
    logfile: TextIO | None = None
    abstracted_axes: AbstractedAxes | None = None
    circuit_passes: "tuple[PassCall, ...]" = ()
    """For QNodes that ask for none themselves (`circuit_transform_pipeline`)."""
    learns_sizes: bool = False
    """Whether a size that has changed is dynamic from then on (`dynamic_dims="auto"`)."""
    counts: CountsForm = "dict"
    """What `qml.counts` gives: PennyLane's dictionary, or Catalyst's pair of arrays."""
    single: bool = False
    """Whether all QNodes have amplitudes in single precision (`precision`)."""

    @property
    def report(self) -> Callable[[str], None]:
        """The function that takes a line about a step of the compilation."""
        if not self.verbose:
            return _silent
        return lambda line: print(line, file=self.logfile or sys.stderr)


def _silent(line: str) -> None:
    """Without `verbose`, nothing is said."""


def read_options(
    name: str,
    *,
    keep_intermediate: bool | int | str | None,
    verbose: bool,
    logfile: TextIO | None,
    seed: int | None,
    target: str,
    abstracted_axes: Any,
    dynamic_dims: str | None,
    counts: str,
    precision: str,
    circuit_transform_pipeline: Mapping[str, Mapping[str, Any]] | None,
    other: dict[str, Any],
) -> QjitOptions:
    """Check the options for a function of this name; `other` holds those named nowhere else."""
    _refuse_others(other)
    kept = _look_up(
        _INTERMEDIATE,
        "keep_intermediate",
        keep_intermediate,
        allowed="False, True, 'stage', 'changed' or 'pass'",
    )
    learns_sizes = _look_up(_DYNAMIC, "dynamic_dims", dynamic_dims, allowed="None or 'auto'")
    if target not in _TARGETS:
        raise InvalidOptionError(option="target", value=repr(target), allowed=", ".join(_TARGETS))
    if seed is not None and (type(seed) is not int or not 0 <= seed < 2**32):
        raise InvalidOptionError(
            option="seed", value=repr(seed), allowed="None or an integer from 0 to 2**32 - 1"
        )
    workspace = Path.cwd() / name if kept != "none" else None
    compile_options = CompileOptions(keep_intermediate=kept, workspace=workspace)
    axes = read_abstracted_axes(abstracted_axes)
    form = _look_up(_COUNTS, "counts", counts, allowed="'dict' or 'arrays'")
    single = _look_up(_IS_SINGLE, "precision", precision, allowed="'double' or 'single'")
    return QjitOptions(
        compile_options,
        target,
        seed,
        verbose,
        logfile,
        axes,
        _passes(circuit_transform_pipeline),
        learns_sizes,
        form,
        single,
    )


def _look_up(table: dict[Any, Any], option: str, value: Any, *, allowed: str) -> Any:
    try:
        return table[value]
    except (KeyError, TypeError):
        raise InvalidOptionError(option=option, value=repr(value), allowed=allowed) from None


def _refuse_others(other: dict[str, Any]) -> None:
    for option, value in other.items():
        if option not in _LATER:
            raise UnknownOptionError(option=option, allowed=", ".join((*_KEYWORDS, *_LATER)))
        if value != _LATER[option]:
            raise UnsupportedOptionError(option=option, value=repr(value))


def _passes(pipeline: Any) -> "tuple[PassCall, ...]":
    """The passes asked for; without any, nothing about them is imported."""
    return diastase_mlir.pass_calls(pipeline) if pipeline else ()
