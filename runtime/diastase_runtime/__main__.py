"""`python -m diastase_runtime inspect | run`: see `saved.command_line`."""

import sys

from diastase_runtime.saved.command_line import main

if __name__ == "__main__":
    sys.exit(main())
