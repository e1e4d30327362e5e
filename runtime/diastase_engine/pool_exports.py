"""The pool's C functions: name in the import table -> kernel."""

from diastase_engine.batch_elements import for_each_element
from diastase_engine.threads.blas import blas_begin, blas_end, use_blas
from diastase_engine.threads.interrupts import poll, poll_now, take_raised
from diastase_engine.threads.parallel_for import configure, forget, parallel_for, thread_count
from diastase_engine.threads.python import call_back, use_python

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
    "take_raised": take_raised,
    "call_back": call_back,
}
