from diastase import qjit


def program():
    qjit(lambda x: x, pipelines=[("clean", ["canonicalise", "cse"])])
