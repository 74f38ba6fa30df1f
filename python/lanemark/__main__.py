"""``python -m lanemark`` is the ``lanemark`` command."""

from ._command import main

main()
