"""Python functions, PennyLane circuits included, to jaxprs over symbolic dimensions."""
