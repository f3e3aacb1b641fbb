"""`--gpu-reset`: what was done to a GPU until the next boot is over; a lost one, and one in use, is not reset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from clusterwright.lab.gpus.smi.nvml import Gpu

_STATE = "/run/clusterwright-lab/gpus/state"


class InUseError(Exception):
    """A process computes on the GPU."""


def reset(gpus: Sequence[Gpu]) -> Iterator[str]:
    """Each of them is as after a boot; the state is put together again as a boot does it (lab/gpus/state.py).

    Raises:
        InUseError: with the words of the real program.
    """
    used = [gpu.pci() for gpu in gpus if list(gpu.processes())]
    if used:
        rows = "".join(f"  GPU {place}: In use by another client\n" for place in used)
        raise InUseError(f"The following GPUs could not be reset:\n{rows}")
    folder = Path(os.environ.get("CLUSTERWRIGHT_LAB_GPUS", _STATE)).parent
    for gpu in gpus:
        for done in folder.glob(f"*-{gpu.index}.boot"):
            done.unlink()
        yield f"GPU {gpu.pci()} was successfully reset."
    parts = [folder / "made", *sorted(folder.glob("*.lasting")), *sorted(folder.glob("*.boot"))]
    scratch = folder / "new"
    scratch.write_text("".join(part.read_text() for part in parts))
    scratch.replace(folder / "state")
    if gpus:
        yield "All done."
