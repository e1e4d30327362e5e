"""MLIR that a user has written, or another program has printed, as a module to compile.

In: text with one function to call: public, or named `main`, from ranked tensors to ranked tensors,
as `jax.jit(f).lower(x).as_text()` has it; or the entry as lowering makes it. Out: a
`LoweredModule`, and the shapes that its arguments must have: compiled code does not compare sizes
that the text names. The function becomes the entry by a wrapper

    func.func @diastase_entry(%0: tensor<f64>) -> tensor<f64> {
      %1 = call @main(%0) : (tensor<f64>) -> tensor<f64>
      return %1 : tensor<f64>
    }

into which everything is inlined. A function whose first argument is the state of the call, a
`!llvm.ptr`, is given it.
"""

import re
from typing import Any

from diastase_mlir.bindings import ir, run_passes, session
from diastase_mlir.dialects import parse
from diastase_mlir.driver.continuation import read
from diastase_mlir.errors import EntryNotFoundError, UnsupportedTypeError
from diastase_mlir.lowering.core.lowered_module import LoweredModule
from diastase_runtime.abi import ENTRY_FUNCTION, ArrayType

_CONTEXT = "!llvm.ptr"
_ELEMENTS = {
    "i1": "bool", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "complex<f32>": "complex64", "complex<f64>": "complex128",
    **{f"{sign}{bits}": f"int{bits}" for bits in (8, 16, 32, 64) for sign in ("i", "si")},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""MLIR's names of element types, and numpy's."""
_TENSOR = re.compile(r"tensor<(?P<sizes>(?:(?:\d+|\?)x)*)(?P<element>[^x,<>]+|complex<f\d+>)>")


Shape = tuple[int | None, ...]
"""None stands for any size."""


def read_module(text: str) -> tuple[LoweredModule, tuple[Shape, ...]]:
    """Read MLIR as a program, and the shapes of arguments; errors show where in the text."""
    with session():
        module = read(text, "<MLIR>")
        function = _entry_of(module)
        name = _name(function)
        kind: Any = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        takes_context = bool(kind.inputs) and str(kind.inputs[0]) == _CONTEXT
        inputs = [*map(str, kind.inputs)][takes_context:]
        results = [*map(str, kind.results)]
        types = [[_array_type(type_, name) for type_ in part] for part in (inputs, results)]
        if name != ENTRY_FUNCTION:
            module = _wrapped(module, function, inputs, results, takes_context)
        lowered = LoweredModule(name, str(module).encode(), tuple(types[0]), tuple(types[1]))
    return lowered, tuple(map(_shape, inputs))


def _entry_of(module: ir.Module) -> Any:
    """The one function to call."""
    functions = [op for op in module.body.operations if op.operation.name == "func.func"]
    public = [op for op in functions if _attribute(op, "sym_visibility") in ("", "public")]
    named = [op for op in public if _name(op) in (ENTRY_FUNCTION, "main")]
    found = named or public
    if len(found) != 1:
        listed = ", ".join(f"@{_name(op)}" for op in found)
        raise EntryNotFoundError(found=f"the public functions {listed}" if found else "none")
    return found[0]


def _name(function: Any) -> str:
    return _attribute(function, "sym_name")


def _attribute(function: Any, name: str) -> str:
    attributes = function.attributes
    return ir.StringAttr(attributes[name]).value if name in attributes else ""


def _array_type(kind: str, function: str) -> ArrayType:
    tensor = _TENSOR.fullmatch(kind)
    if tensor is None or tensor["element"] not in _ELEMENTS:
        raise UnsupportedTypeError(what=f"{kind} (in @{function}; a scalar is a tensor<f64>)")
    return ArrayType(_ELEMENTS[tensor["element"]], tensor["sizes"].count("x"))


def _shape(kind: str) -> Shape:
    sizes = _TENSOR.fullmatch(kind)["sizes"].split("x")[:-1]  # pyright: ignore[reportOptionalSubscript]
    return tuple(None if size == "?" else int(size) for size in sizes)


def _wrapped(
    module: ir.Module, function: Any, inputs: list[str], results: list[str], takes_context: bool
) -> ir.Module:
    """Make the entry, which calls the function, and inline what can be."""
    given = [f"%{number}" for number in range(len(inputs))]
    parameters = [f"%{n}: {kind}" for n, kind in enumerate(inputs)]
    called = [*["%context"] * takes_context, *given]
    context = f'%context = "runtime.context"() : () -> {_CONTEXT}' if takes_context else ""
    types = [*[_CONTEXT] * takes_context, *inputs]
    returned = ", ".join(f"%r#{n}" for n in range(len(results)))
    call = f"func.call @{_name(function)}({', '.join(called)}) : ({', '.join(types)})"
    entry = f"""func.func @{ENTRY_FUNCTION}({", ".join(parameters)}) -> ({", ".join(results)})
      {{
      {context}
      {f"%r:{len(results)} = " if results else ""}{call} -> ({", ".join(results)})
      return {f"{returned} : " if results else ""}{", ".join(results)}
    }}"""
    function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    wrapped = parse(str(module).rstrip().removesuffix("}") + entry + "}")
    run_passes("inline,symbol-dce", wrapped)
    return wrapped
