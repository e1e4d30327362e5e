"""A state's memory, the operations that wait for it, and the tape of them."""
