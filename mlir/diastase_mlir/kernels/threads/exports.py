"""The pool's C functions: name in the import table -> kernel."""

from diastase_mlir.kernels.threads.blas import blas_begin, blas_end, use_blas
from diastase_mlir.kernels.threads.elements import for_each_element
from diastase_mlir.kernels.threads.interrupts import (
    before_callback,
    poll,
    poll_now,
    take_raised,
    use_python,
)
from diastase_mlir.kernels.threads.parallel_for import (
    configure,
    forget,
    parallel_for,
    thread_count,
)

EXPORTS = {
    "parallel_for": parallel_for,
    "for_each_element": for_each_element,
    "configure": configure,
    "thread_count": thread_count,
    "forget": forget,
    "use_blas": use_blas,
    "blas_begin": blas_begin,
    "blas_end": blas_end,
    "use_python": use_python,
    "poll": poll,
    "poll_now": poll_now,
    "before_callback": before_callback,
    "take_raised": take_raised,
}
