"""Derivatives from runs with shifted parameters, as on hardware; SPSA, Hadamard tests."""
