"""How a rank leaves when more than a rank is wrong: with an exit code, and words that its agent passes on."""

from __future__ import annotations

# The two of sysexits(3) whose words come nearest: the data were wrong; the machine was.
NOT_FINITE = 65
CORRUPT = 71

VAIN = "starting again would be in vain"  # the supervisor ends the run at these words (agent/decide.py)
FIRST_S = 1.0  # the rank that is wrong leaves first: the first to leave counts as the cause
HOST = "silent corruption on this host"  # it leaves the host out at these (agent/host_fault.py)


class Leaving(SystemExit):
    """An exit code with words."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(code)
        self.words = words
