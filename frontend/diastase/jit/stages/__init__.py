"""`Traced -> Lowered -> Compiled`, and what a call of a compiled program checks and makes."""
