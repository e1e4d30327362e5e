"""What users call: `qjit`, the stages, control flow, circuits."""
