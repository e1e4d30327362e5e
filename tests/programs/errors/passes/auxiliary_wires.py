import pennylane as qml

from diastase import passes, qjit


def program():
    @qjit
    def function(n):
        @passes.ppm_compilation
        @qml.qnode(qml.device("lightning.qubit", wires=n))
        def circuit():
            qml.T(0)
            return qml.expval(qml.Z(0))

        return circuit()

    function(2)
