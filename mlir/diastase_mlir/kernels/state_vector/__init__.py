"""The state-vector engine in the kernel language; `exports.py` lists its C functions.

Modules, lowest first: `records` (memory layout), `failures`, `wires`, `random_numbers`, `sweeps`
(one operation over all amplitudes), `queue` (waiting operations, fused), `memory` (states made
and released), `matrices`, `decompositions` and `gates` (named gates), `dense*` (any matrix),
`pauli`, `expectations`, `outcomes` (probabilities, measurement), `linear_algebra` (whole states).

Everything a function needs is in its arguments: no global state, so calls on different states may
run in parallel.
"""
