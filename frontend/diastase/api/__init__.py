"""What users call inside of programs: control flow, derivatives, `adjoint`, measurements, …."""
