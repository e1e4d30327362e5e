"""Provoke faults and look what comes of them: `python -m faults [--only WORDS] [--write]`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from faults import injector

with tempfile.TemporaryDirectory(prefix="faults-") as folder:
    environment = injector.environment(injector.build(Path(folder)))
    command = [sys.executable, "-m", "faults.report", folder, *sys.argv[1:]]
    sys.exit(subprocess.run(command, env=environment).returncode)
