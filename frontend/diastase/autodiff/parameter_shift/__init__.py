"""Derivatives as on hardware: parameter shifts, finite differences, Hadamard tests, SPSA."""
