"""Exit codes and causes with which ranks end a training over wrong numbers."""

from __future__ import annotations

# EX_DATAERR and EX_OSERR of sysexits(3): wrong data, wrong hardware.
DATA, MACHINE = 65, 71

NOT_FINITE = "not-finite"  # not retryable: the supervisor ends the run (onhost/supervisor/supervisor.py)
CORRUPT = "corrupt"  # another rank has wrong numbers
CORRUPT_HOST = (
    "corrupt-host"  # the supervisor excludes this host (onhost/supervisor/root_cause/host_fault.py)
)
FIRST_S = 1.0  # delay of the other ranks: the first rank to exit counts as the root cause


class Leaving(SystemExit):
    """A SystemExit that carries its cause and a message."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(DATA if cause == NOT_FINITE else MACHINE)
        self.cause, self.message = cause, message
