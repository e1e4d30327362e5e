"""Questions about jaxprs of circuits: which part is classical, which a result needs."""
