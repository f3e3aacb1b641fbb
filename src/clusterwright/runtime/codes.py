"""Exit codes and causes with which ranks end a training over wrong numbers or unusable checkpoints."""

from __future__ import annotations

# EX_DATAERR and EX_OSERR of sysexits(3): wrong data, wrong hardware.
DATA, MACHINE = 65, 71

# not retryable: the supervisor ends the run (onhost/supervisor/decide.py)
NOT_FINITE = "not-finite"
CHECKPOINT_FORMAT = "checkpoint-format"  # saved by another version
CHECKPOINTS_UNUSABLE = "checkpoints-unusable"  # they exist, and none can be loaded
CORRUPT = "corrupt"  # another rank has wrong numbers
CORRUPT_HOST = (
    "corrupt-host"  # the supervisor excludes this host (onhost/supervisor/root_cause/host_fault.py)
)
FIRST_S = 1.0  # delay of the other ranks: the first rank to exit counts as the root cause


class Leaving(SystemExit):
    """A SystemExit that carries its cause and a message."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(MACHINE if cause in (CORRUPT, CORRUPT_HOST) else DATA)
        self.cause, self.message = cause, message
