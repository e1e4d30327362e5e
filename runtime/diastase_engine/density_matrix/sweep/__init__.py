"""The sweep back over a density matrix's tape."""
