"""The recording of operators in one region of a circuit."""
