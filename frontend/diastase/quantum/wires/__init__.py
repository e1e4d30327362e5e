"""Labels of wires, and the positions in the register that they stand for."""
