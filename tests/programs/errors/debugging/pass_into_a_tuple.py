from diastase import pipelines


def program():
    pipelines.insert_pass_after(("canonicalize", "cse"), "symbol-dce", "cse")
