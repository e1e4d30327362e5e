import diastase


def program():
    diastase.qjit(lambda: 0, circuit_transform_pipeline=["cancel_inverses"])
