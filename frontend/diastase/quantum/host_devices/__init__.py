"""QNodes on devices of PennyLane's that are not the engine: captured here, run in Python."""
