"""Rules that end in the state of the call: checks, calls of Python, JAX's own rules."""
