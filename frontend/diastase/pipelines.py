"""Stages and passes that programs are compiled with, as lists that can be edited.

What is made of them is given to `qjit(pipelines=…)`.
"""

from diastase.jit.options.pipelines import (
    PipelineStage,
    PipelineStages,
    default_pipeline,
    insert_pass_after,
    insert_pass_before,
    insert_stage_after,
    insert_stage_before,
)
from diastase.namespace.lazy_names import lazy_names, public_names

__all__ = [
    "PipelineStage",
    "PipelineStages",
    "default_pipeline",
    "insert_pass_after",
    "insert_pass_before",
    "insert_stage_after",
    "insert_stage_before",
]

__getattr__ = lazy_names(__name__, {})
__dir__ = public_names(__name__)
