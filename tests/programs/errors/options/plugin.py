import diastase


def program():
    diastase.qjit(lambda x, y: x, pass_plugins=["plugin.so"])
