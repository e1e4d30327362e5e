"""Every public function of JAX, compiled by `qjit` and compared with plain JAX."""
