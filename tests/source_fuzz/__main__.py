"""`PYTHONPATH=tests python -m source_fuzz --seconds N --seed S [--programs N] [--only KIND …]`."""

import argparse
import os
import tempfile
from pathlib import Path

_TEMPORARY = Path(tempfile.gettempdir())


def main() -> None:
    parser = argparse.ArgumentParser(prog="source_fuzz")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=10**9)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--directory", type=Path, default=_TEMPORARY / "source-fuzz")
    options = parser.parse_args()
    # XLA is only the reference, and compiles faster so; the user's cache is left alone.
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
    cache = _TEMPORARY / f"diastase-tests-{os.getuid()}"
    cache.mkdir(mode=0o700, exist_ok=True)
    os.environ.setdefault("DIASTASE_CACHE_DIR", str(cache))
    from source_fuzz.campaign import run_campaign

    counts = run_campaign(options.directory, options.seed, options.seconds, options.programs, options.only)
    for name, count in sorted(counts.items()):
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main()
