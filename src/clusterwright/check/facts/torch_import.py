"""The Python with torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import Want, fact

_PROGRAM = (
    "import platform, torch;"
    "print(platform.python_version(), torch.__version__, torch.version.cuda, 'imported')"
)


@dataclass(frozen=True, slots=True)
class Torch:
    """Versions of the Python that trainings use and of its torch; or why torch is not there."""

    python: str = ""
    torch: str = ""
    cuda: str = ""
    error: str = ""

    def __str__(self) -> str:
        return self.error or f"torch {self.torch} in Python {self.python}"


def _argv(want: Want) -> Sequence[str]:
    python = want.cluster.software.python
    return ("sh", "-c", 'exec "$0" -c "$1" 2>&1', python, _PROGRAM)


@fact(_argv, limit_s=120, codes=(0, 1, 126, 127))  # 2 s alone; over 60 s with 12 processes to a core
def torch_import(out: str) -> Torch:
    """What comes of really importing torch there."""
    last = out.strip().splitlines()[-1]
    words = last.split()
    if len(words) == 4 and words[3] == "imported":  # noqa: PLR2004 (the words that the program prints)
        return Torch(words[0], words[1], "" if words[2] == "None" else words[2])
    return Torch(error=last)
