"""Passes of ours: one file each, named as its function `(module: ir.Module) -> None`.

Folders are the forms that a pass finds the program in: circuits, tensors, what is asked of the
runtime, buffers, LLVM; `operations` and `memory` are what all of them ask and emit. Which pass runs
when, and why there, says `driver.pipeline`.
"""
