"""One scenario in a process of its own: `python -m soak.worker NAME CALLS`.

Prints a line of JSON: what the process used when a tenth of the calls was made, and at the end.
Where the scenario fails the process does, with the traceback.
"""

import faulthandler
import json
import sys
import time
import warnings
from dataclasses import asdict

import jax

from soak.all_scenarios import SCENARIOS
from soak.measures import Measures


def measured(name: str, calls: int) -> dict:
    """Run a scenario; the numbers of the report."""
    scenario, began, early, done = SCENARIOS[name], time.monotonic(), None, 0
    for done in scenario.run(calls):
        if early is None and 10 * done >= calls:
            early = Measures.now(done, scenario.compiles)
    assert early is not None
    assert done >= calls, f"only {done} of {calls} calls"
    seconds = time.monotonic() - began
    late = Measures.now(done, scenario.compiles)
    return {"seconds": seconds, "early": asdict(early), "late": asdict(late)}


def main(name: str, calls: str) -> None:
    faulthandler.enable()
    jax.config.update("jax_enable_x64", True)
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)  # JAX's, and right in general
    print(json.dumps(measured(name, int(calls))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
