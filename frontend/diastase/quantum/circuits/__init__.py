"""The body of a QNode as a jaxpr."""
