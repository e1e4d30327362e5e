"""Compile kernels to one LLVM module: the exported ones and all that they call.

In: kernels with the C names under which they are exported, and the settings that they name. Out:
an llvmlite module whose other functions are internal, so that LLVM may inline, specialise or drop
them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir

from diastase_mlir.kernels.language.errors import KernelLanguageError
from diastase_mlir.kernels.language.functions import External, Kernel
from diastase_mlir.kernels.language.instructions import Frame
from diastase_mlir.kernels.language.scope import Scope
from diastase_mlir.kernels.language.statements import Statements
from diastase_mlir.kernels.language.types import in_precision
from diastase_mlir.kernels.language.values import Slot

SINGLE = "single"
"""The setting that says for which precision of amplitudes: 1 for single, 0 for double."""


def compile_kernels(
    exports: Mapping[str, Callable[..., Any]],
    triple: str,
    settings: Mapping[str, int] | None = None,
) -> ir.Module:
    """One module with every kernel of `exports` (C name -> kernel) and those that they call."""
    unit = _Unit(triple, settings or {})
    with in_precision(bool(unit.settings.get(SINGLE, 0))):
        for name, function in exports.items():
            if not isinstance(function, Kernel):
                raise KernelLanguageError(what=f"an export that is no kernel: {name}")
            unit.declare(function, name)
        unit.finish()
    return unit.module


class _Unit:
    """A module under construction and the kernels still to be compiled."""

    def __init__(self, triple: str, settings: Mapping[str, int]) -> None:
        self.settings = settings
        self.module = ir.Module("kernels")
        self.module.triple = triple
        self._declared: dict[Kernel[..., Any] | External, ir.Function] = {}
        self._waiting: list[Kernel[..., Any]] = []

    def declare(self, function: Kernel[..., Any] | External, export: str = "") -> ir.Function:
        """Return the LLVM function of a kernel or C function, made on first sight."""
        if function in self._declared:
            return self._declared[function]
        result = ir.VoidType() if function.return_type is None else function.return_type.llvm
        signature = ir.FunctionType(result, [kind.llvm for kind in function.parameter_types])
        is_kernel = isinstance(function, Kernel)
        name = export or function.name
        if is_kernel and not export:
            # Kernels of two modules may share a name, also with a C function.
            name = self.module.get_unique_name(f"{name}.kernel")
        declared = ir.Function(self.module, signature, name)
        declared.attributes.add("nounwind")
        self._declared[function] = declared
        if is_kernel:
            declared.linkage = "" if export else "internal"
            self._waiting.append(function)
        return declared

    def finish(self) -> None:
        """Compile bodies until no kernel waits."""
        while self._waiting:
            function = self._waiting.pop()
            self._compile_body(function, self._declared[function])

    def _compile_body(self, function: Kernel[..., Any], compiled: ir.Function) -> None:
        source = function.source
        builder: Any = ir.IRBuilder(compiled.append_basic_block("entry"))
        start = builder.append_basic_block("start")
        scope = Scope(source, result_type=function.return_type)
        body = Statements(Frame(builder, self.declare, self.settings), scope)
        builder.position_at_end(start)
        for name, kind, value in zip(
            source.parameters, function.parameter_types, compiled.args, strict=True
        ):
            slot = Slot(kind, body.frame.allocate(kind))
            builder.store(value, slot.address)
            scope.names[name] = slot
        body.run(source.definition.body)
        if not builder.block.is_terminated:
            _end(builder, function, scope)
        with builder.goto_block(compiled.entry_basic_block):
            builder.branch(start)


def _end(builder: Any, function: Kernel[..., Any], scope: Scope) -> None:
    """Close a body whose last statement does not return."""
    if function.return_type is None:
        builder.ret_void()
        return
    raise KernelLanguageError(
        what=f"the end of {function.name}, reached without a result",
        span=scope.source.span(scope.source.definition),
    )
