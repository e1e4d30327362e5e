"""What acts on the numbers of a state: real matrices, conjugation by complex ones."""
