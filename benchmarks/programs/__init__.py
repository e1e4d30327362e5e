"""One file for each program that is measured, for every subject that can run it.

`qnode(device, **arguments)` gives a PennyLane program, as a function and its arguments;
`circuit(**arguments)` the same as data (`gates.Circuit`), for simulators without PennyLane;
`classical(**arguments)` a function of JAX and its arguments. A file has those that make sense.
"""
