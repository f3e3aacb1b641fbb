"""Sessions to work in on a compute host: JupyterLab, VS Code or a shell, as a job of Slurm's."""

from __future__ import annotations

from clusterwright.launch.dev.asking import Asked, Left, begin, listed, stop
from clusterwright.launch.dev.reach import Reach, reach
from clusterwright.launch.dev.script import script
from clusterwright.launch.dev.wish import Kind, Wish, checked

__all__ = ["Asked", "Kind", "Left", "Reach", "Wish", "begin", "checked", "listed", "reach", "script", "stop"]
