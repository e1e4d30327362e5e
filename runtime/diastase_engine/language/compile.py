"""Compile kernels to LLVM modules: the exported ones and all that they call.

In: kernels with the C names under which they are exported, and the settings that they name. Out:
one llvmlite module whose other functions are internal, so that LLVM may inline, specialise or drop
them (`compile_kernels`); or several, of which LLVM may have one while the next is made
(`compile_part`, of what `called_by` finds).
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from llvmlite import ir

from diastase_engine.language.functions import External, Kernel, KernelLanguageError
from diastase_engine.language.grids import add_entry, words_of
from diastase_engine.language.instructions import Frame
from diastase_engine.language.statements import Statements
from diastase_engine.language.types import in_precision
from diastase_engine.language.values import Scope, Slot

SINGLE = "single"
"""The setting that says for which precision of amplitudes: 1 for single, 0 for double."""


def compile_kernels(
    exports: Mapping[str, Callable[..., Any]],
    triple: str,
    settings: Mapping[str, int] | None = None,
) -> ir.Module:
    """One module with every kernel of `exports` (C name -> kernel) and those that they call."""
    named = named_kernels(exports)
    return _module(named, _Unit(triple, settings or {}, named))


def compile_grids(
    kernels: Mapping[str, Callable[..., Any]], triple: str, settings: Mapping[str, int]
) -> ir.Module:
    """One module with an entry for each of these kernels of grids: see `grids`."""
    named = named_kernels(kernels)
    unit = _Unit(triple, settings, {kernel: f"{name}.block" for kernel, name in named.items()})
    unit.are_blocks = frozenset(named)
    module = _module(named, unit)
    for kernel, name in named.items():
        add_entry(unit.declare(kernel), name, words_of(kernel), settings)
    return module


def compile_part(
    kernels: Collection[Kernel[..., Any]],
    names: Mapping[Kernel[..., Any], str],
    triple: str,
    settings: Mapping[str, int],
) -> ir.Module:
    """One module with just these kernels; those that they call are in it or in another part.

    `names` has what each of them is called in all parts.
    """
    return _module(kernels, _Unit(triple, settings, names))


def named_kernels(exports: Mapping[str, Callable[..., Any]]) -> dict[Kernel[..., Any], str]:
    """The C names of exported kernels."""
    for name, function in exports.items():
        if not isinstance(function, Kernel):
            raise KernelLanguageError(what=f"an export that is no kernel: {name}")
    return {cast("Kernel[..., Any]", function): name for name, function in exports.items()}


def called_by(kernels: Collection[Kernel[..., Any]]) -> list[Kernel[..., Any]]:
    """These kernels and all that they may call, in a fixed order."""
    found = dict.fromkeys(kernels)
    waiting = list(kernels)
    while waiting:
        new = [kernel for kernel in waiting.pop().kernels if kernel not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


def _module(kernels: Collection[Kernel[..., Any]], unit: "_Unit") -> ir.Module:
    with in_precision(bool(unit.settings.get(SINGLE, 0))):
        for kernel in kernels:
            unit.define(kernel)
        unit.finish()
    return unit.module


class _Unit:
    """A module under construction and the kernels still to be compiled.

    Kernels in `names` have these names, and are in the module only if they are to be defined.
    """

    def __init__(
        self, triple: str, settings: Mapping[str, int], names: Mapping[Kernel[..., Any], str]
    ) -> None:
        self.settings = settings
        self._names = names
        self.module = ir.Module("kernels")
        self.module.triple = triple
        self._declared: dict[Kernel[..., Any] | External, ir.Function] = {}
        self._waiting: list[Kernel[..., Any]] = []
        self.are_blocks: frozenset[Kernel[..., Any]] = frozenset()
        """Those of grids."""

    def define(self, kernel: Kernel[..., Any]) -> None:
        """Have a kernel compiled that the module is asked for."""
        self.declare(kernel)
        self._waiting.append(kernel)

    def declare(self, function: Kernel[..., Any] | External) -> ir.Function:
        """Return the LLVM function of a kernel or C function, made on first sight."""
        if function in self._declared:
            return self._declared[function]
        result = ir.VoidType() if function.return_type is None else function.return_type.llvm
        signature = ir.FunctionType(result, [kind.llvm for kind in function.parameter_types])
        name, is_own = function.name, False
        if isinstance(function, Kernel):
            name, is_own = self._names.get(function, name), function not in self._names
        if is_own:
            # Kernels of two modules may share a name, also with a C function.
            name = self.module.get_unique_name(f"{name}.kernel")
        declared = ir.Function(self.module, signature, name)
        declared.attributes.add("nounwind")
        if isinstance(function, External) and function.is_of_numbers:
            # A function as in mathematics: LLVM makes one call of a sine and a cosine.
            declared.attributes.add("readnone")
        self._declared[function] = declared
        if isinstance(function, Kernel) and is_own:
            declared.linkage = "internal"
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
        is_block = function in self.are_blocks
        body = Statements(Frame(builder, self.declare, self.settings, is_block=is_block), scope)
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


def add_text(module: ir.Module, name: str, text: str) -> str:
    """Give a module a constant that ends with a zero, for who loads the library; its name."""
    content = ir.Constant(
        ir.ArrayType(ir.IntType(8), len(text) + 1), bytearray(f"{text}\0", "ascii")
    )
    constant: Any = ir.GlobalVariable(module, content.type, name)
    constant.initializer, constant.global_constant = content, True
    return name
