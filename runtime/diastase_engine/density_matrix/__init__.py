"""The simulator of density matrices: real vectors in the basis of Pauli words."""
