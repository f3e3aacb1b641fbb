"""Interactive sessions on compute hosts: JupyterLab, VS Code or a shell in a Slurm job."""

from __future__ import annotations

from clusterwright.launch.dev.asking import Session, WaitInterrupted, begin, listed, stop
from clusterwright.launch.dev.options import Kind, SessionOptions, checked
from clusterwright.launch.dev.reach import DevReach, reach
from clusterwright.launch.dev.script import script

__all__ = [
    "DevReach",
    "Kind",
    "Session",
    "SessionOptions",
    "WaitInterrupted",
    "begin",
    "checked",
    "listed",
    "reach",
    "script",
    "stop",
]
