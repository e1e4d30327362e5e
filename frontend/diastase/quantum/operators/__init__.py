"""From PennyLane's operators to equations on a register."""
