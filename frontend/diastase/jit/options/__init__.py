"""What users ask of `qjit`: options, axes, pipelines; read and checked once."""
