"""The floating-point environment of a thread: rounding, and whether subnormal numbers are kept.

XLA flushes them to zero in each of its threads, and while it calls others; and a thread that is
made then begins with that. Programs compute alike wherever they run.
"""

from diastase_engine.language import external, i32, i64, ptr

save_environment = external("fegetenv", [ptr[i64]], i32)
set_environment = external("fesetenv", [i64], i32)
"""Takes the address of one that was saved, or `DEFAULT`."""

DEFAULT = -1
"""`FE_DFL_ENV`, the environment that a program begins with, in the C libraries of Linux."""
ENVIRONMENT_WORDS = 4
"""A `fenv_t` has 32 bytes on x86-64, fewer elsewhere."""
