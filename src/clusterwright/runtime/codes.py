"""How a rank leaves when more than a rank is wrong: an exit code, a cause for its agent, and words for a reader."""

from __future__ import annotations

# The two of sysexits(3) whose words come nearest: the data were wrong; the machine was.
DATA, MACHINE = 65, 71

NOT_FINITE = "not-finite"  # not retryable: the supervisor ends the run (onhost/supervisor/supervisor.py)
CORRUPT = "corrupt"  # of another rank
CORRUPT_HOST = "corrupt-host"  # it leaves this host out (onhost/supervisor/root_cause/host_fault.py)
FIRST_S = 1.0  # the rank that is wrong leaves first: the first to leave counts as the cause


class Leaving(SystemExit):
    """An exit code with its cause and words."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(DATA if cause == NOT_FINITE else MACHINE)
        self.cause, self.message = cause, message
