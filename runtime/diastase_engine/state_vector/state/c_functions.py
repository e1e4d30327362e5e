"""Functions of the C library that the engine's memory is made with."""

import mmap

from diastase_engine.language import external, f64, i32, i64, ptr

malloc = external("malloc", [i64], ptr[f64])
aligned_alloc = external("aligned_alloc", [i64, i64], ptr[f64])
realloc = external("realloc", [ptr[f64], i64], ptr[f64])
free = external("free", [ptr[f64]])
memset = external("memset", [ptr[f64], i32, i64], ptr[f64])
memcpy = external("memcpy", [ptr[f64], ptr[f64], i64], ptr[f64])
madvise = external("madvise", [ptr[f64], i64, i32], i32)

MADV_HUGEPAGE = getattr(mmap, "MADV_HUGEPAGE", -1)
"""Linux only; -1 elsewhere."""
