"""From a lowered module to machine code: the ordered stages, and the functions that run them.

`print(PIPELINE)` shows the stages, and which passes are optional; intermediate IR and timings use
the same names. The order inside `stablehlo-to-linalg` is not a matter of taste:
`stablehlo-convert-to-signless` before the legalisation would silently turn every unsigned operation
into a signed one.
"""

from collections.abc import Iterable
from dataclasses import replace

from diastase_mlir.bindings.pass_pipeline import Pipeline, Stage, pass_name
from diastase_mlir.passes.buffers.bounded_allocations import bounded_allocations
from diastase_mlir.passes.buffers.element_loops import element_loops
from diastase_mlir.passes.buffers.failed_checks import VERIFICATION, failed_checks
from diastase_mlir.passes.buffers.free_after_last_use import free_after_last_use
from diastase_mlir.passes.buffers.index_set_splitting import index_set_splitting
from diastase_mlir.passes.buffers.interruptible_loops import interruptible_loops
from diastase_mlir.passes.buffers.matmul_to_blas import matmul_to_blas
from diastase_mlir.passes.buffers.parallel_loops import parallel_loops
from diastase_mlir.passes.buffers.parts.equal_loops import equal_loops
from diastase_mlir.passes.buffers.parts.inline_parts import inline_parts
from diastase_mlir.passes.buffers.parts.outline_parts import outline_parts
from diastase_mlir.passes.buffers.reductions_in_lanes import reductions_in_lanes
from diastase_mlir.passes.buffers.separate_aliases import separate_aliases
from diastase_mlir.passes.buffers.short_loops import short_loops
from diastase_mlir.passes.buffers.small_arrays_on_stack import small_arrays_on_stack
from diastase_mlir.passes.buffers.vector_lanes import vector_lanes
from diastase_mlir.passes.llvm.results_in_memory import results_in_memory
from diastase_mlir.passes.llvm.short_descriptors import short_descriptors
from diastase_mlir.passes.llvm.split_functions import split_functions
from diastase_mlir.passes.runtime.batches_to_calls import batches_to_calls
from diastase_mlir.passes.runtime.quantum_to_runtime import quantum_to_runtime
from diastase_mlir.passes.runtime.runtime_to_calls import runtime_to_calls
from diastase_mlir.passes.tensors.arrays_in_registers import arrays_in_registers
from diastase_mlir.passes.tensors.arrays_to_loops import arrays_to_loops
from diastase_mlir.passes.tensors.bounded_fusion import bounded_fusion
from diastase_mlir.passes.tensors.clone_empties import clone_empties
from diastase_mlir.passes.tensors.detensorize_scalars import detensorize_scalars
from diastase_mlir.passes.tensors.drop_barriers import drop_barriers
from diastase_mlir.passes.tensors.elementary_calls import elementary_calls
from diastase_mlir.passes.tensors.expm1_log1p_to_libm import expm1_log1p_to_libm
from diastase_mlir.passes.tensors.extracts_to_operands import extracts_to_operands
from diastase_mlir.passes.tensors.fusion_by_cost import fusion_by_cost
from diastase_mlir.passes.tensors.loop_interchange import loop_interchange
from diastase_mlir.passes.tensors.precheck import precheck
from diastase_mlir.passes.tensors.reuse_destinations import reuse_destinations
from diastase_mlir.passes.tensors.scalarize import scalarize
from diastase_mlir.passes.tensors.slices_to_operands import slices_to_operands
from diastase_mlir.passes.tensors.unbatch_loops import unbatch_loops
from diastase_toolchain.checked.switch import checks

_CLEAN = ("canonicalize", "cse")
_SCALARS = frozenset({"builtin", "func", "arith", "math", "complex", "index", "llvm", "ub"})
_ARRAYS = _SCALARS | {"scf", "tensor", "linalg", "memref", "bufferization", "affine", "cf", "shape"}
_BUFFERS = _SCALARS | {"scf", "linalg", "memref", "bufferization", "affine", "cf"}

CHECKS = (VERIFICATION, failed_checks)
"""Passes of checked builds, of `DIASTASE_CHECKED`."""

_FUSION = "func.func(linalg-fuse-elementwise-ops,linalg-inline-scalar-operands)"

LAST_LOOPS = "func.func(convert-linalg-to-parallel-loops)"
"""After it there are loops and accesses to memory, and no other operation on arrays."""

DIALECTS = frozenset("builtin func scf stablehlo chlo quantum runtime".split())
"""What a module consists of that lowering made."""

PIPELINE = Pipeline(
    (
        Stage(
            "capture",
            "what lowering built, verified before anything touches it",
            (precheck,),
            remain=DIALECTS,
        ),
        Stage(
            "scalarize",
            "numbers first: circuits, sizes and loops take them as scalars",
            (batches_to_calls, scalarize, runtime_to_calls),
            remain=_ARRAYS | {"stablehlo", "chlo", "quantum", "runtime"},
        ),
        Stage(
            "quantum-to-runtime",
            "while arrays are values: what the engine reads and writes is bufferized with the rest",
            (quantum_to_runtime,),
            remain=_ARRAYS | {"stablehlo", "chlo", "runtime"},
        ),
        Stage(
            "stablehlo-to-linalg",
            "arrays become loops over elements; signless only afterwards (see above)",
            (
                arrays_to_loops,
                "func.func(chlo-legalize-to-stablehlo)",
                *_CLEAN,
                "stablehlo-legalize-to-linalg",
                "stablehlo-convert-to-signless",
                "reconcile-unrealized-casts",
                "canonicalize",  # no CSE, which compares all loops of equal operands in pairs
            ),
            remain=_ARRAYS - {"shape"},
        ),
        Stage(
            "scalars",
            "before fusion and bufferization, which would give each scalar a buffer",
            (detensorize_scalars, *_CLEAN),
            remain=_ARRAYS - {"shape"},
            optional=frozenset({detensorize_scalars}),
        ),
        Stage(
            "bufferize",
            "fusion first, on values: fewer arrays to give memory to",
            (
                unbatch_loops,
                arrays_in_registers,
                extracts_to_operands,
                slices_to_operands,
                fusion_by_cost,
                bounded_fusion,
                _FUSION,
                *_CLEAN,
                drop_barriers,  # nothing may simplify arrays from here on
                reuse_destinations,
                clone_empties,
                separate_aliases,
                outline_parts,  # the next pass's time grows with the cube of a function's length
                "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops "
                "function-boundary-type-conversion=identity-layout-map}",
                inline_parts,
                *_CLEAN,
            ),
            remain=_BUFFERS,
            optional=frozenset(
                {
                    unbatch_loops,
                    arrays_in_registers,
                    extracts_to_operands,
                    slices_to_operands,
                    fusion_by_cost,
                    bounded_fusion,
                    _FUSION,
                    reuse_destinations,
                    outline_parts,
                }
            ),
        ),
        Stage(
            "deallocate",
            "needs structured control flow, so before it is lowered; results stay the caller's",
            (
                "buffer-deallocation-pipeline",
                "convert-bufferization-to-memref",
                free_after_last_use,
                small_arrays_on_stack,
                *_CLEAN,
            ),
            remain=_BUFFERS - {"bufferization"},
            optional=frozenset({free_after_last_use, small_arrays_on_stack}),
        ),
        Stage(
            "to-llvm",
            "loops to branches, then every dialect to LLVM's",
            (
                matmul_to_blas,  # on buffers, whose strides BLAS understands
                "func.func(refback-munge-memref-copy)",  # else an external `memrefCopy` is called
                loop_interchange,
                index_set_splitting,  # innermost loops are known, and none is handed out yet
                parallel_loops,
                element_loops,
                vector_lanes,
                "convert-complex-to-standard",  # what it leaves of `complex.exp` has vector forms
                elementary_calls,
                interruptible_loops,  # which sees whether a body calls the thread pool
                reductions_in_lanes,  # whose loops are too short to be interrupted
                results_in_memory,  # before it is seen what parts of a function return
                equal_loops,
                split_functions,  # LLVM's time grows with the square of a function's loops
                short_loops,
                LAST_LOOPS,
                *(CHECKS if checks() else ()),
                "expand-strided-metadata",
                "lower-affine",
                "convert-scf-to-cf",
                short_descriptors,  # of arrays that blocks and functions take and return
                "func.func(math-extend-to-supported-types{target-type=f32})",
                # What is left of 16-bit floats then are conversions: codegen/half_floats.py.
                "arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32}",
                bounded_allocations,
                expm1_log1p_to_libm,  # the next would be off for small arguments
                "convert-math-to-llvm",
                "convert-math-to-libm",
                "convert-vector-to-llvm",  # which the last one takes vectors apart with
                "convert-complex-to-llvm",
                "convert-arith-to-llvm",
                "convert-index-to-llvm",
                "finalize-memref-to-llvm{use-generic-functions=true}",  # `allocation_runtime`
                "convert-func-to-llvm",
                "convert-cf-to-llvm",
                "convert-ub-to-llvm",
                "reconcile-unrealized-casts",
                *_CLEAN,
            ),
            remain=frozenset({"builtin", "llvm"}),
            optional=frozenset(
                {
                    matmul_to_blas,
                    loop_interchange,
                    index_set_splitting,
                    parallel_loops,
                    vector_lanes,
                    elementary_calls,
                    reductions_in_lanes,
                    equal_loops,
                    split_functions,
                    short_loops,
                    short_descriptors,
                }
            ),
        ),
    )
)

TRANSLATABLE = replace(PIPELINE.stages[-1], name="translate", passes=())
"""No stage, but what must hold of a module at the end, whatever the stages were."""

PYTHON_PASSES = {
    pass_name(step): step
    for stage in PIPELINE.stages
    for step in (*stage.passes, *CHECKS)
    if not isinstance(step, str)
}
"""Passes of ours, by the names that `PIPELINE` shows."""


def for_any_module(pipeline: Pipeline) -> Pipeline:
    """The same for a module that a user wrote, which may hold more than lowering makes."""
    capture = PIPELINE.stages[0]
    assert capture.remain is not None
    lenient = replace(capture, remain=capture.remain | _ARRAYS)
    return Pipeline(tuple(lenient if stage == capture else stage for stage in pipeline.stages))


def pipeline_of(groups: Iterable[tuple[str, Iterable[str]]]) -> Pipeline:
    """Make a pipeline of names, which nothing is known of: what may remain is seen at its end."""
    given = "given to qjit(pipelines=...)"
    return Pipeline(
        tuple(
            Stage(name, given, tuple(PYTHON_PASSES.get(step, step) for step in steps), remain=None)
            for name, steps in groups
        )
    )


def groups_of(pipeline: Pipeline) -> list[tuple[str, list[str]]]:
    """Name the stages and passes of a pipeline, as `pipeline_of` reads them."""
    return [(stage.name, [*map(pass_name, stage.passes)]) for stage in pipeline.stages]
