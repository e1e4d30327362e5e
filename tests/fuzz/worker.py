"""A process of a campaign: `python -m fuzz.worker SECONDS SEED FOLDER [ORACLE ...]`.

Prints a line of JSON for each batch. The numbers of its batches follow from SEED.
"""

import gc
import json
import sys
import time
from pathlib import Path

import jax

import settings
from fuzz.campaign import batch
from fuzz.oracles import Turns


def main(seconds: str, seed: str, folder: str, *names: str) -> None:
    settings.begin()
    jax.config.update("jax_enable_x64", True)
    gc.set_threshold(20_000, 20, 20)  # what JAX keeps of each program is walked again and again
    turns = Turns(int(seed), names)
    until, number = time.monotonic() + float(seconds), int(seed)
    while time.monotonic() < until:
        with turns.taken(name := turns.next()):
            counts, found = batch(name, number, until, Path(folder) / f"running-{seed}.json")
        line = {"oracle": name, "seed": number, "counts": counts, "found": found and str(found)}
        print(json.dumps(line), flush=True)
        number += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
