"""The state-vector engine in the kernel language; `exports.py` lists its C functions.

Folders, lowest first: `state` (memory layout, wires), `operations` (what waits, and what fuses),
`tiles` (the inner loops), `plan` (which operations run together), `queue` (states, the tape),
`measure` (outcomes), `gates`, `observables`, `adjoint` (the sweep back). `batch_elements` runs the
elements of a batch, which have states of their own, on all threads.

Everything a function needs is in its arguments: no global state, so calls on different states may
run in parallel.
"""
