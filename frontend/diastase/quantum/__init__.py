"""PennyLane's circuits to equations on a register."""
