"""Functions that programs call but do not hold: each is declared once, in the module."""

from collections.abc import Sequence

from diastase_mlir.emit.operations import create
from diastase_mlir.jax_internals import HookedModuleContext, ir
from diastase_runtime.abi import ImportedLibrary, import_symbol


class Imports:
    """What a program imports, and how to call it."""

    def __init__(self, module_context: HookedModuleContext):
        self._module_context = module_context
        self._declared: dict[str, ir.Operation] = {}
        self._asked_for: dict[str, int] = {}

    @property
    def symbols(self) -> frozenset[str]:
        """What is declared so far."""
        return frozenset(self._declared)

    @property
    def counts(self) -> dict[str, int]:
        """How often a function of each library was asked for so far."""
        return dict(self._asked_for)

    def function(
        self,
        library: ImportedLibrary,
        name: str,
        operands: Sequence[ir.Type],
        results: Sequence[ir.Type] = (),
        *,
        c_interface: bool = False,
    ) -> str:
        """Declare an imported function, once, and return its symbol."""
        symbol = import_symbol(library, name)
        self.note(library)
        attributes: dict[str, ir.Attribute] = {}
        if c_interface:
            attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        self.declare(symbol, operands, results, attributes)
        return symbol

    def note(self, library: ImportedLibrary) -> None:
        """Count a function that a pass will import."""
        self._asked_for[library] = self._asked_for.get(library, 0) + 1

    def declare(
        self,
        symbol: str,
        operands: Sequence[ir.Type],
        results: Sequence[ir.Type],
        attributes: dict[str, ir.Attribute],
    ) -> None:
        """Declare a function that is defined elsewhere, once."""
        if symbol in self._declared:
            return
        function_type = ir.FunctionType.get(list(operands), list(results))
        attributes |= {
            "sym_name": ir.StringAttr.get(symbol),
            "function_type": ir.TypeAttr.get(function_type),
            "sym_visibility": ir.StringAttr.get("private"),
        }
        with ir.InsertionPoint.at_block_begin(self._module_context.module.body):
            self._declared[symbol] = create("func.func", [], [], attributes, regions=1)

    def keep_only(self, symbols: frozenset[str]) -> None:
        """Erase the declarations of all others."""
        for symbol in self._declared.keys() - symbols:
            self._declared.pop(symbol).erase()


def call(
    symbol: str, operands: Sequence[ir.Value], results: Sequence[ir.Type] = ()
) -> list[ir.Value]:
    """Call a function of the module by its symbol."""
    attributes = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
    return list(create("func.call", results, operands, attributes).results)
