"""From LLVM IR to a library on disk: the processor, machine code, the linker, the cache.

The compiler and the engine stand on it; it knows neither.
"""
