from diastase.pipelines import default_pipeline, insert_stage_after


def program():
    insert_stage_after(default_pipeline(), ("mine", ["cse"]), ref_stage="stablehlo")
