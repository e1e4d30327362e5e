"""Pictures of compiled circuits: a body's jaxpr becomes items (`read`), these text or a figure.

The trap: a picture is of the circuit as the compiler has it, so what tracing has computed away
(adjoints, controls of whole functions, loops of Python) is there as the gates that it left.
"""
