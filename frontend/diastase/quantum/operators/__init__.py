"""From PennyLane's operators to equations on a register, recorded in each region of a circuit."""
