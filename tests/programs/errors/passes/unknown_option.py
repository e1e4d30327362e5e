import diastase


def program():
    @diastase.qjit(circuit_transform_pipeline={"merge_rotations": {"tolerance": 1e-6}})
    def circuit():
        return 0

    return circuit
