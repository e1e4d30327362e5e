"""Memory of density matrices, and which index bits their wires are."""
