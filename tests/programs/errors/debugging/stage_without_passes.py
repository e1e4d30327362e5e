from diastase import pipelines


def program():
    stages = pipelines.default_pipeline()[:2]
    pipelines.insert_stage_after(stages, "cse", "capture")
