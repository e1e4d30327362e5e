"""JAX's errors about tracers, derivatives and batches, as errors of ours."""
