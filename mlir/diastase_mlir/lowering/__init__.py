"""Jaxprs to MLIR: our walker, a rule for each primitive, JAX's rules, the host as last resort."""
