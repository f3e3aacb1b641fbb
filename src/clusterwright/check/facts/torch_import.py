"""The Python with torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import Want, fact

_PROGRAM = (
    "import platform, torch\n"
    "try:\n nccl = '.'.join(map(str, torch.cuda.nccl.version()))\n"
    "except Exception:\n nccl = None\n"  # a build without CUDA has none
    "print(platform.python_version(), torch.__version__, torch.version.cuda, nccl, 'imported')"
)


@dataclass(frozen=True, slots=True)
class Torch:
    """Versions of the Python that trainings use, of its torch, CUDA and NCCL; or why torch is not there."""

    python: str = ""
    torch: str = ""
    cuda: str = ""
    nccl: str = ""
    error: str = ""

    def __str__(self) -> str:
        with_what = [
            f"{name} {version}" for name, version in (("CUDA", self.cuda), ("NCCL", self.nccl)) if version
        ]
        beside = f" ({', '.join(with_what)})" if with_what else ""
        return self.error or f"torch {self.torch}{beside} in Python {self.python}"


def _argv(want: Want) -> Sequence[str]:
    python = want.cluster.software.python
    return ("sh", "-c", 'exec "$0" -c "$1" 2>&1', python, _PROGRAM)


@fact(_argv, limit_s=120, codes=(0, 1, 126, 127))  # 2 s alone; over 60 s with 12 processes to a core
def torch_import(out: str) -> Torch:
    """What comes of really importing torch there."""
    last = out.strip().splitlines()[-1]
    words = last.split()
    if len(words) == 5 and words[4] == "imported":
        return Torch(*("" if word == "None" else word for word in words[:4]))
    return Torch(error=last)
