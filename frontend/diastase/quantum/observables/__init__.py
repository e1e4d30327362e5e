"""From PennyLane's observables to what a register is measured by."""
