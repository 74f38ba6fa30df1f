"""The ``lanemark`` command of an installed package."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command with the arguments of this process, and exit with its exit code."""
    if sys.argv[1:2] == ["sweep"] and any(argument.split("=")[0] == "--dask" for argument in sys.argv[2:]):
        from ._dask_command import main as on_dask

        sys.exit(on_dask(sys.argv[2:]))
    from . import _lanemark

    # The command handles signals itself. With Python's handler, KeyboardInterrupt would also be raised.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _lanemark.command(["lanemark", *sys.argv[1:]])
    sys.stdout.flush()
    os._exit(code)
