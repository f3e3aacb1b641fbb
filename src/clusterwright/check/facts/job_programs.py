"""Checksums of the programs that Slurm runs around jobs."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.provision.render.job_hooks import FOLDER

# Two `find` calls for all files, to stay quick on a busy host.
_COMMAND = (
    f"cd {FOLDER} 2>/dev/null && find . -maxdepth 1 -type f -exec sha256sum {{}} + && echo @ &&"
    " find . -maxdepth 1 -type f -perm -u+x; echo END"
)


@dataclass(frozen=True, slots=True)
class Program:
    """The first 12 digits of its SHA-256, and whether it is executable."""

    digest: str
    runnable: bool


@fact("sh", "-c", _COMMAND)
def job_programs(out: str) -> dict[str, Program]:
    """Prolog, epilog, health check program and their files by name; empty where the folder is missing."""
    *lines, last = out.splitlines()
    if last != "END":
        raise ValueError(out[:80])
    begin = lines.index("@") if lines else 0
    runnable = lines[begin + 1 :]
    return {
        path[2:]: Program(digest[:12], path in runnable) for digest, path in map(str.split, lines[:begin])
    }
