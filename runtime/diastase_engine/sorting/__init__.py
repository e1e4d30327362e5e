"""Sorting of lines of numbers, in the kernel language: integers of 64 bits, alone or with another.

Arrays of all element types are sorted so: the compiler maps their elements to integers of the same
order (`diastase_mlir.emit.sort_keys`). A *line* is what is sorted, `length` numbers in a row.
Numbers alone are *keys*; what each of *pairs* has besides is moved with it, and pairs of equal keys
stay in order, so that positions sorted by keys are the order of a stable sort.

`ranks` sorts what is short, `parts` what is not, `large` on all threads, `lines` all lines of an
array, `smallest` the first numbers of an order. What is computed does not depend on threads.
"""
