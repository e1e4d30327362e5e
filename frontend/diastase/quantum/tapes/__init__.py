"""QNodes with PennyLane's transforms: recorded into tapes by PennyLane itself, then compiled."""
