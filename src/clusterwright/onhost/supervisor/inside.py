"""Agents in a container image: srun's options per runtime, and a check of the image before the training starts.

Ranks are children of the agent, so they run in the image too. The supervisor stays outside, where Slurm's
commands are. `python -m ...supervisor.inside RUN RUNTIME IMAGE MOUNTS PYTHON` exits with 1, and ends the run
with the reason, if the image cannot run a training.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import List, Sequence, Tuple

from clusterwright.onhost.lib import processes
from clusterwright.onhost.supervisor import console
from clusterwright.onhost.supervisor.folder import Folder

VARIABLE = "CLUSTERWRIGHT_MOUNTS"  # in_image.py reads it
CHECK_TIMEOUT_S = 600  # an image of 20 GB may have to be fetched and unpacked first
CHECK_SCRIPT = """
import importlib.util, sys
sys.exit(0 if importlib.util.find_spec("torch") else "there is no torch in " + sys.executable)
"""


@dataclass(frozen=True)
class Image:
    """A container image, its runtime, and the Python in it that runs the agent."""

    runtime: str
    image: str
    mounts: Tuple[str, ...]
    python: str

    def step(self) -> List[str]:
        """Return srun's options that start a step in the container image; none for Apptainer, see `command`."""
        if self.runtime == "oci":
            return [f"--container={self.image}"]
        if self.runtime == "pyxis":
            mounts = ",".join(f"{path}:{path}" for path in self.mounts)
            return [f"--container-image={self.image}", f"--container-mounts={mounts}"]
        return []

    def command(self, arguments: Sequence[str]) -> List[str]:
        """Return the command line that srun starts to run the image's Python with these arguments."""
        ours = [self.python, *arguments]
        if self.runtime != "apptainer":
            return ours
        binds = ["--bind", ",".join(self.mounts)] if self.mounts else []
        return ["apptainer", "exec", "--nv", *binds, self.image, *ours]


def parse_image(arguments: Sequence[str]) -> Image:
    """Return the image of four arguments: runtime, image, mounts (separated by colons) and Python."""
    runtime, image, mounts, python = arguments
    return Image(runtime, image, tuple(filter(None, mounts.split(":"))), python)


def unfit(image: Image) -> str:
    """Return why a training cannot run in the container image (the last line of the failed check); "" if it can."""
    argv = ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--quiet", *image.step()]
    result = processes.run([*argv, *image.command(("-c", CHECK_SCRIPT))], CHECK_TIMEOUT_S, merge=True)
    if result.stopped:
        return f"srun: {result.stopped}"
    lines = [line for line in result.out.splitlines() if line.strip()]
    messages = [line for line in lines if not line.startswith("srun: ")] or lines
    return "" if result.ok else (messages[-1].strip() if messages else f"srun ended with {result.code}")


def main(arguments: Sequence[str]) -> int:
    """Check that the job's container image can run a training; return 0, or end the run as failed and return 1.

    The first argument is the run's folder, the others describe the image.
    """
    run, *image_arguments = arguments
    image = parse_image(image_arguments)
    reason = unfit(image)
    if not reason:
        return 0
    reason = f"image {image.image} ({image.runtime}, {image.python}): {reason}"
    console.out(f"{time.strftime('%H:%M:%S')} failed: {reason}")
    Folder(run).write("ended.json", {"outcome": "failed", "code": 1, "reason": reason, "time": time.time()})
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
