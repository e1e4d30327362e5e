"""Where and of what a run was made: processor, cores, load, commit."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path


def describe():
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "load_before": os.getloadavg()[0],
    }


def _processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _commit():
    """The commit, with `+` where files that git knows have changed since."""
    found = _git("rev-parse", "--short", "HEAD")
    return found + "+" if found and _git("status", "--porcelain", "-uno") else found


def _git(*arguments):
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
