"""The tables of examples, a module for each kind of operator."""
