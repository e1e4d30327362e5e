from diastase import debug, qjit

double = qjit(lambda x: 2 * x)


def program():
    qjit(lambda x: debug.get_cmain(double, x))(1.0)
