"""Run the ``lanemark`` command as ``python -m lanemark``."""

from ._command import main

main()
