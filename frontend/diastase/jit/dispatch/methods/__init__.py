"""Methods of mutable objects: which attributes a program depends on, and what they are now."""
