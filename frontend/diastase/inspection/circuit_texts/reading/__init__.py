"""From the equations of a circuit to statements, whatever language they are written in.

reader      regions, gates and wires
operations  what each operation on a register writes
loops       loops, or their turns
choices     branches
variables   what loops carry and branches give
results     what is measured at the end
"""
