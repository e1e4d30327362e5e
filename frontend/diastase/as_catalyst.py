"""From now on `import catalyst` gives diastase, and `@qml.qjit` compiles here.

    import diastase.as_catalyst

    import catalyst                       # diastase
    from catalyst.debug import callback

Import it before anything that imports Catalyst. For one block only, and undone at its end:
`with diastase.acting_as_catalyst()`; imported inside of one, it changes nothing.
"""

from diastase.capture.pennylane_compat import stands_in_for_catalyst
from diastase.namespace.stand_in import act_as_catalyst

if not stands_in_for_catalyst():
    act_as_catalyst()
