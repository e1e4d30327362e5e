"""Which small arrays become numbers in loops and branches, and which stay arrays."""

import pytest

from diastase_mlir.bindings import ir, run_passes, session
from diastase_mlir.passes.tensors.arrays_in_registers import arrays_in_registers

IDENTITY = "affine_map<(d0) -> (d0)>"


def after(body, carried="tensor<3xf64>", cleaned=True, returned="%r"):
    """A function whose loop carries an array, `%a`, and gives `%next` of it."""
    text = f"""
      func.func private @use(tensor<3xf64>) -> tensor<3xf64>
      func.func @f(%n: index, %flag: i1, %start: {carried}, %big: tensor<100x3xf64>) -> {carried} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        {body}
        return {returned} : {carried}
      }}"""
    with session():
        module = ir.Module.parse(text)
        arrays_in_registers(module)
        assert module.operation.verify()
        if cleaned:
            run_passes("canonicalize,cse", module)
        return str(module)


def loop(body, carried="tensor<3xf64>"):
    return f"""
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %start) -> ({carried}) {{
        {body}
        scf.yield %next : {carried}
      }}"""


def elementwise(result, *operands, operation, kind="tensor<3xf64>"):
    """A loop over elements: an operation on those of the operands."""
    names = [f"%x{number}" for number in range(len(operands))]
    maps = ", ".join([IDENTITY] * (len(operands) + 1))
    arguments = ", ".join(f"{name}: f64" for name in (*names, "%out"))
    kinds = ", ".join([kind] * len(operands))
    return f"""
      {result}_e = tensor.empty() : {kind}
      {result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
        ins({", ".join(operands)} : {kinds}) outs({result}_e : {kind}) {{
      ^bb0({arguments}):
        %y = {operation} {", ".join(names)} : f64
        linalg.yield %y : f64
      }} -> {kind}"""


def product(left="%a", right="%a"):
    maps = ", ".join(
        f"affine_map<(d0, d1, d2) -> {own}>" for own in ("(d0, d1)", "(d1, d2)", "(d0, d2)")
    )
    return f"""
      %zero = arith.constant 0.0 : f64
      %e = tensor.empty() : tensor<2x2xf64>
      %z = linalg.fill ins(%zero : f64) outs(%e : tensor<2x2xf64>) -> tensor<2x2xf64>
      %next = linalg.contract indexing_maps = [{maps}]
        ins({left}, {right} : tensor<2x2xf64>, tensor<2x2xf64>) outs(%z : tensor<2x2xf64>)
        -> tensor<2x2xf64>"""


def test_an_array_of_a_loop_is_its_elements():
    text = after(loop(elementwise("%next", "%a", operation="arith.negf")))
    assert "linalg" not in text
    assert text.count("arith.negf") == 3
    assert "-> (f64, f64, f64)" in text
    assert text.count("tensor.from_elements") == 1  # what is returned


def test_products_are_added_in_pairs():
    text = after(loop(product(right="%start"), "tensor<2x2xf64>"), "tensor<2x2xf64>")
    assert "linalg" not in text
    assert (text.count("arith.mulf"), text.count("arith.addf")) == (8, 8)
    assert "-> (f64, f64, f64, f64)" in text


def test_nothing_changes_outside_of_loops():
    text = after(elementwise("%r", "%start", operation="arith.negf"))
    assert text.count("linalg.generic") == 1
    assert "tensor.extract" not in text


def test_branches_give_numbers():
    body = f"""
      %next = scf.if %flag -> (tensor<3xf64>) {{
        {elementwise("%p", "%a", operation="arith.negf")}
        scf.yield %p : tensor<3xf64>
      }} else {{
        scf.yield %a : tensor<3xf64>
      }}"""
    text = after(loop(body))
    assert text.count("-> (f64, f64, f64)") == 2
    assert "linalg" not in text


def test_a_while_carries_numbers():
    body = f"""
      %r = scf.while (%x = %start) : (tensor<3xf64>) -> tensor<3xf64> {{
        %first = tensor.extract %x[%c0] : tensor<3xf64>
        %bound = arith.constant 1.0 : f64
        %more = arith.cmpf olt, %first, %bound : f64
        scf.condition(%more) %x : tensor<3xf64>
      }} do {{
      ^bb0(%a: tensor<3xf64>):
        {elementwise("%p", "%a", "%a", operation="arith.addf")}
        scf.yield %p : tensor<3xf64>
      }}"""
    text = after(body)
    assert ": (f64, f64, f64) -> (f64, f64, f64)" in text
    assert "linalg" not in text


def test_what_depends_on_the_position_alone_is_computed():
    body = """
      %e = tensor.empty() : tensor<3xf64>
      %next = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],
                              iterator_types = ["parallel"]} outs(%e : tensor<3xf64>) {
      ^bb0(%out: f64):
        %k = linalg.index 0 : index
        %before = arith.subi %k, %c1 : index
        %inside = arith.cmpi sge, %before, %c0 : index
        %y = scf.if %inside -> (f64) {
          %x = tensor.extract %a[%before] : tensor<3xf64>
          scf.yield %x : f64
        } else {
          %last = tensor.extract %a[%c2] : tensor<3xf64>
          scf.yield %last : f64
        }
        linalg.yield %y : f64
      } -> tensor<3xf64>"""
    text = after(loop(body))
    assert "scf.if" not in text
    assert "arith.cmpi" not in text
    carried, yielded = (text.split(word)[1] for word in ("iter_args(", "scf.yield "))
    first, second, third = (own.split(" =")[0] for own in carried.split(")")[0].split(", "))
    assert yielded.startswith(f"{third}, {first}, {second} ")


def test_parts_are_read_and_written_by_elements():
    body = f"""
      %row = tensor.extract_slice %big[%i, 0] [1, 3] [1, 1] : tensor<100x3xf64> to tensor<3xf64>
      {elementwise("%next", "%a", "%row", operation="arith.addf")}"""
    text = after(loop(body))
    assert "extract_slice" not in text
    assert text.count("tensor.extract %arg3[%") == 3


@pytest.mark.parametrize(
    "read",
    [
        "%x = tensor.extract %a[%i] : tensor<3xf64>",
        "%x = tensor.extract %big[%c0, %c0] : tensor<100x3xf64>"
        "\n %b = tensor.insert %x into %a[%i] : tensor<3xf64>",
    ],
)
def test_an_array_with_elements_at_any_place_stays_one(read):
    used = "%b" if "%b" in read else "%a"
    write = "%next = tensor.insert %x into %s[%c0] : tensor<3xf64>".replace("%s", used)
    text = after(loop(f"{read}\n{write}"))
    assert "iter_args(%arg5 = %arg2) -> (tensor<3xf64>)" in text


def test_an_array_that_others_make_and_read_stays_one():
    text = after(loop("%next = func.call @use(%a) : (tensor<3xf64>) -> tensor<3xf64>"))
    assert "-> (tensor<3xf64>)" in text
    assert "tensor.from_elements" not in text


@pytest.mark.parametrize(("size", "kept"), [(4, 0), (5, 2)])
def test_calls_for_many_elements_stay_loops_with_what_is_fused(size, kept):
    kind = f"tensor<{size}xf64>"
    body = elementwise("%p", "%a", operation="math.exp", kind=kind)
    body += elementwise("%next", "%p", operation="arith.negf", kind=kind)
    assert after(loop(body, kind), kind).count("linalg.generic") == kept


@pytest.mark.parametrize(("size", "kept"), [(16, 0), (32, 0), (33, 1)])
def test_large_arrays_stay(size, kept):
    kind = f"tensor<{size}xf64>"
    text = after(loop(elementwise("%next", "%a", operation="arith.negf", kind=kind), kind), kind)
    assert text.count("linalg.generic") == kept
    assert ("iter_args(%arg5 = %arg2)" in text) == (size > 16)


@pytest.mark.parametrize(("size", "found"), [(2, False), (6, False), (8, True)])
def test_functions_with_code_for_vectors_say_so(size, found):
    kind = f"tensor<{size}xf64>"
    text = after(loop(elementwise("%next", "%a", operation="arith.negf", kind=kind), kind), kind)
    assert ("diastase-side-by-side" in text) == found
