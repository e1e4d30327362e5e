"""Jaxprs to MLIR: our walker, a rule for each primitive, JAX's own rules, the host as last resort."""
