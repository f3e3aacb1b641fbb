"""The torch that trainings import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact
from clusterwright.onhost.lib.processes import NOT_HERE

_PROGRAM = (
    f"{NOT_HERE}; import platform, torch\n"
    "try:\n nccl = '.'.join(map(str, torch.cuda.nccl.version()))\n"
    "except Exception:\n nccl = None\n"  # a build without CUDA has none
    "print(platform.python_version(), torch.__version__, torch.version.cuda, nccl, 'imported')"
)


@dataclass(frozen=True, slots=True)
class Torch:
    """Versions of the trainings' Python, torch, CUDA and NCCL; or the error of the import."""

    python: str = ""
    torch: str = ""
    cuda: str = ""
    nccl: str = ""
    error: str = ""

    def __str__(self) -> str:
        parts = [
            f"{name} {version}" for name, version in (("CUDA", self.cuda), ("NCCL", self.nccl)) if version
        ]
        detail = f" ({', '.join(parts)})" if parts else ""
        return self.error or f"torch {self.torch}{detail} in Python {self.python}"


def _argv(spec: HostSpec) -> Sequence[str]:
    python = spec.cluster.software.python
    return ("sh", "-c", 'exec "$0" -c "$1" 2>&1', python, _PROGRAM)


@fact(_argv, limit_s=120, codes=(0, 1, 126, 127))  # 2 s alone; over 60 s with 12 processes to a core
def torch_import(out: str) -> Torch:
    """Result of `import torch` in the Python of the cluster file.

    The versions of Python, torch, CUDA and NCCL, or the last line of the error.
    """
    last = out.strip().splitlines()[-1]
    columns = last.split()
    if len(columns) == 5 and columns[4] == "imported":
        return Torch(*("" if column == "None" else column for column in columns[:4]))
    return Torch(error=last)
