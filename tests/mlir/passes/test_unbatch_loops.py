"""`unbatch_loops`: a loop over arrays becomes one of each element, if that is the same."""

import jax
import numpy as np
import pytest

from diastase.debugging.ir import compile_from_mlir
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.tensors.unbatch_loops import unbatch_loops

jax.config.update("jax_enable_x64", True)

ANY = """
      %i = tensor.empty() : tensor<i1>
      %f = linalg.fill ins(%false : i1) outs(%i : tensor<i1>) -> tensor<i1>
      %r = linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]}
          ins(%on : tensor<?xi1>) outs(%f : tensor<i1>) {
        ^bb0(%in: i1, %out: i1): %o = arith.ori %out, %in : i1 linalg.yield %o : i1
      } -> tensor<i1>
      %any = tensor.extract %r[] : tensor<i1>"""

HALVED = """
      %new = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
          ins(%on, %x : tensor<?xi1>, tensor<?xf64>) outs(%e : tensor<?xf64>) {
        ^bb0(%in: i1, %v: f64, %out: f64):
          %h = arith.mulf %v, %half : f64
          %t = arith.select %in, %h, %v : f64
          linalg.yield %t : f64
      } -> tensor<?xf64>"""

STILL = """
      %still = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
          ins(%on, %new : tensor<?xi1>, tensor<?xf64>) outs(%b : tensor<?xi1>) {
        ^bb0(%in: i1, %v: f64, %out: i1):
          %l = arith.cmpf ogt, %v, %half : f64
          %s = arith.andi %in, %l : i1
          linalg.yield %s : i1
      } -> tensor<?xi1>"""


def unbatched(halved=HALVED, still=STILL, condition="%any", results="%w#1", kinds="tensor<?xf64>"):
    """The text after the pass, of a loop with a counter and two arrays."""
    carries = "i64, tensor<?xf64>, tensor<?xi1>"
    text = f"""
    #row = affine_map<(i) -> (i)>
    #none = affine_map<(i) -> ()>
    func.func @f(%a: tensor<?xf64>, %m: tensor<?xi1>, %n: index) -> ({kinds}) {{
      %false = arith.constant false
      %half = arith.constant 0.5 : f64
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %most = arith.constant 9 : i64
      %e = tensor.empty(%n) : tensor<?xf64>
      %b = tensor.empty(%n) : tensor<?xi1>
      %w:3 = scf.while (%k = %zero, %x = %a, %on = %m) : ({carries}) -> ({carries}) {{
        {ANY}
        %below = arith.cmpi slt, %k, %most : i64
        %both = arith.andi %any, %below : i1
        scf.condition({condition}) %k, %x, %on : {carries}
      }} do {{
      ^bb0(%k: i64, %x: tensor<?xf64>, %on: tensor<?xi1>):
        {halved} {still}
        %next = arith.addi %k, %one : i64
        scf.yield %next, %new, %still : {carries}
      }}
      return {results} : {kinds}
    }}"""
    with session():
        module = parse(text.encode())
        unbatch_loops(module)
        assert module.operation.verify()
        return str(module)


def loop_in(text):
    return next(line for line in text.splitlines() if "scf.while" in line)


@pytest.mark.parametrize("condition", ["%any", "%both"])
def test_a_loop_that_keeps_what_does_not_ask_is_one_of_elements(condition):
    text = unbatched(condition=condition)
    assert "(i64, f64, i1) -> (i64, f64, i1)" in loop_in(text)
    assert text.count("linalg.generic") == 1
    assert 'iterator_types = ["parallel"]' in text


def test_what_changes_without_being_asked_stays():
    goes_on = HALVED.replace("arith.select %in, %h, %v", "arith.addf %h, %h")
    assert "tensor<?xf64>" in loop_in(unbatched(halved=goes_on))


def test_who_may_ask_again_stays():
    asks_again = STILL.replace("arith.andi", "arith.ori")
    assert "tensor<?xf64>" in loop_in(unbatched(still=asks_again))


def test_who_sees_the_number_of_turns_stays():
    text = unbatched(results="%w#1, %w#0", kinds="tensor<?xf64>, i64")
    assert "tensor<?xf64>" in loop_in(text)


def test_sizes_that_are_not_seen_to_be_equal_stay():
    """The flags of the turn before meet the numbers nowhere."""
    apart = STILL.replace("ins(%on, %new : tensor<?xi1>, tensor<?xf64>)", "ins(%on : tensor<?xi1>)")
    apart = apart.replace("[#row, #row, #row]", "[#row, #row]").replace(", %v: f64", "")
    apart = apart.replace("arith.cmpf ogt, %v, %half : f64", "arith.constant true")
    alone = HALVED.replace("ins(%on, %x : tensor<?xi1>, tensor<?xf64>)", "ins(%x : tensor<?xf64>)")
    alone = alone.replace("[#row, #row, #row]", "[#row, #row]").replace("%in: i1, ", "")
    alone = alone.replace("arith.select %in, %h, %v", "arith.maximumf %v, %v")
    assert "tensor<?xf64>" in loop_in(unbatched(halved=alone, still=apart))


def test_what_is_known_at_one_place_is_not_taken_for_another():
    """A comparison with a negative number is left to the program."""
    compiled = compile_from_mlir("""
      #m = affine_map<(i, j) -> (i, j)>
      func.func @main(%a: tensor<20x4xf64>, %t: tensor<9xf64>) -> tensor<20x4xf64> {
        %zero = arith.constant 0.0 : f64
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %c4 = arith.constant 4 : index
        %e = tensor.empty() : tensor<20x4xf64>
        %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%x = %a) -> tensor<20x4xf64> {
          %g = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]}
              ins(%x : tensor<20x4xf64>) outs(%e : tensor<20x4xf64>) {
          ^bb0(%p: f64, %o: f64):
            %j = linalg.index 1 : index
            %j3 = arith.muli %j, %c3 : index
            %d = arith.subi %c4, %j3 : index
            %c = arith.cmpi eq, %j, %d : index
            %v = scf.if %c -> f64 {
              %w = tensor.extract %t[%k] : tensor<9xf64>
              %u = arith.addf %p, %w : f64
              scf.yield %u : f64
            } else {
              scf.yield %zero : f64
            }
            linalg.yield %v : f64
          } -> tensor<20x4xf64>
          scf.yield %g : tensor<20x4xf64>
        }
        return %r : tensor<20x4xf64>
      }""")
    expected = np.zeros((20, 4))
    expected[:, 1] = 4.0
    np.testing.assert_array_equal(compiled(np.ones((20, 4)), np.arange(9.0)), expected)
