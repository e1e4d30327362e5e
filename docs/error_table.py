"""The table of all error classes in `errors.md`, made from the classes themselves.

`python docs/error_table.py` writes it into the page; a test compares the two.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from generated import with_part

import diastase
import diastase_engine
import diastase_mlir
import diastase_runtime
import diastase_toolchain
from diastase import DiastaseError, acting_as_catalyst

PAGE = Path(__file__).with_name("errors.md")

MODULES = {
    "diastase_runtime.errors": "While a program runs, or is loaded",
    "diastase_runtime.saved.errors": "Loading saved functions, and calling them",
    "diastase_runtime.distributed.errors": "Maps over batches, here and on clusters",
    "diastase.capture.tracer_errors": "While tracing: values known only at run time",
    "diastase.dynamic_shapes.errors": "While tracing: sizes known only at run time",
    "diastase.primitives.errors": "Derivatives and batches that there are not",
    "diastase.tracing.argument_errors": "Arguments and results",
    "diastase.capture.control_flow.errors": "Control flow",
    "diastase.capture.quantum_errors": "QNodes, and what circuits apply and measure",
    "diastase.capture.noise_errors": "Noise channels",
    "diastase.capture.device_errors": "Devices in Python, and transforms of QNodes",
    "diastase.jit.options.errors": "`qjit`, its methods and the stages",
    "diastase.jit.options.saving_errors": "Saving compiled functions",
    "diastase.namespace.lazy_names": "Names that there are not",
    "diastase.capture.pennylane_compat.compilers": "Programs written for Catalyst",
    "diastase.autograph.staging.errors": "AutoGraph",
    "diastase.api.differentiable": "Derivatives",
    "diastase.callbacks.calls": "Callbacks",
    "diastase.mitigation": "Error mitigation",
    "diastase.quantum.folding": "Error mitigation: circuits",
    "diastase.jit.options.ir_errors": "`diastase.debug` and `diastase.pipelines`",
    "diastase.inspection.explicit_jaxpr.typecheck": "Explicit jaxprs",
    "diastase.inspection.pictures.errors": "Pictures of circuits",
    "diastase.inspection.circuit_texts.errors": "Circuits as OpenQASM and QIR",
    "diastase.inspection.levels": "Levels of a pipeline: resources, pictures",
    "diastase.inspection.resources.errors": "Resources of circuits",
    "diastase_mlir.errors": "Compiling",
    "diastase_toolchain.errors": "Making machine code",
    "diastase_mlir.passes.circuits.errors": "Passes on circuits",
    "diastase.quantum.passes.errors": "Passes of measurements, operators and bodies",
    "diastase_engine.language.functions": "Building the engine",
}
"""Modules that define errors, in the order of the page, with what they are about."""


def subclasses(base: type) -> Iterator[type]:
    """All classes derived from one, directly or not."""
    for derived in base.__subclasses__():
        yield derived
        yield from subclasses(derived)


def ours() -> list[type]:
    """Every error and warning class that our packages define, base class included."""
    packages = (diastase, diastase_mlir, diastase_engine, diastase_toolchain, diastase_runtime)
    with acting_as_catalyst():  # which importing `diastase.as_catalyst` would begin for good
        for package in packages:
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                importlib.import_module(module.name)
    kinds = {*subclasses(DiastaseError), *subclasses(UserWarning)}
    # A program may derive errors of its own from ours, as tests do.
    return sorted(
        (
            kind
            for kind in kinds
            if kind.__module__.startswith(tuple(f"{package.__name__}." for package in packages))
        ),
        key=lambda kind: kind.__name__,
    )


def bases(kind: type) -> str:
    """What else an error can be caught as: its bases other than `DiastaseError`."""
    names = []
    for base in kind.__bases__:
        if base is not DiastaseError:
            jax = base.__module__.startswith("jax")
            names.append(f"`jax.errors.{base.__name__}`" if jax else f"`{base.__name__}`")
    return ", ".join(names)


def table() -> str:
    """One section for each module, one row for each class."""
    classes = ours()
    assert {kind.__module__ for kind in classes} == MODULES.keys(), "add the new module to MODULES"
    lines: list[str] = []
    for module, title in MODULES.items():
        lines += [f"### {title}", "", f"`{module}`", ""]
        lines += ["| class | also a | when |", "|---|---|---|"]
        for kind in classes:
            if kind.__module__ == module:
                when = (kind.__doc__ or "").splitlines()[0].replace("|", r"\|")
                lines.append(f"| `{kind.__name__}` | {bases(kind)} | {when} |")
        lines.append("")
    return "\n".join(lines)


def page() -> str:
    """The page with a fresh table."""
    return with_part(PAGE, "table", "error_table.py", table())


if __name__ == "__main__":
    PAGE.write_text(page())
