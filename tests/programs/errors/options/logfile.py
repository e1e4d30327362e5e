import diastase


def program():
    diastase.qjit(lambda x, y: x, logfile="log.txt")
