"""JVP rules of operations and measurements, on a register with a derivative wire."""
