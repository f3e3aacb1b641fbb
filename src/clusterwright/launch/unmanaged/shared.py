"""Find a folder for runs that the user can write and all nodes mount: a short job looks, nothing is assumed."""

from __future__ import annotations

import secrets
import shlex

from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import Ssh, ThisMachine
from clusterwright.errors import WrightError
from clusterwright.i18n import _

SHARED_VARIABLE = "CLUSTERWRIGHT_SHARED"  # names the folder; without it, the first of these that a node sees
_FOLDER = "wright"
_BASES = ("$SCRATCH", "$WORK", "$HOME")
_WAIT_S = 45  # for a free node; a full cluster is asked again by the next command
# File systems that hosts share, as `stat -f` names them: the answer where no node is free.
_SHARED_KINDS = (
    "nfs",
    "nfs4",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "fuseblk",
    "afs",
    "panfs",
    "wekafs",
    "smb2",
)


def find_shared(remote: Ssh | ThisMachine, host: str, named: str | None) -> str:
    """Return the folder for `runs`, created if it was missing: `named`, else the first candidate that a node sees.

    Raises:
        WrightError: the user can write none, or no node sees one.
    """
    token = secrets.token_hex(8)
    candidates = _written(remote, host, named, token)
    try:
        seen = _seen_by_a_node(remote, host, list(candidates), token)
    finally:
        remote.run(host, "rm -f " + " ".join(shlex.quote(f"{folder}/.{token}") for folder in candidates))
    shared = [folder for folder, kind in candidates.items() if kind in _SHARED_KINDS]
    found = seen if seen is not None else shared
    if not found:
        raise _not_shared(host, list(candidates), asked=seen is not None)
    return found[0]


def _written(remote: Ssh | ThisMachine, host: str, named: str | None, token: str) -> dict[str, str]:
    """Write the token into each candidate; return those that took it, with the kind of their file system."""
    bases = shlex.quote(named) if named else " ".join(f'"{base}/{_FOLDER}"' for base in _BASES)
    line = (
        f"for folder in {bases}; do case $folder in /{_FOLDER}) continue;; esac; "
        'mkdir -p "$folder" 2>/dev/null && cd "$folder" 2>/dev/null && '
        f"echo {token} 2>/dev/null >.{token} && "
        'echo "$(stat -f -c %T .) $(pwd)"; done; true'
    )
    rows = [row.partition(" ") for row in remote.run(host, line).out.splitlines()]
    written = {folder: kind for kind, _space, folder in rows if folder.startswith("/")}
    if not written:
        raise WrightError.from_code(
            "no-runs-folder",
            _("{host} has no folder for runs that you can write", host=host),
            _("name one on a file system of all nodes: export {variable}=FOLDER", variable=SHARED_VARIABLE),
        )
    return written


def _seen_by_a_node(
    remote: Ssh | ThisMachine, host: str, candidates: list[str], token: str
) -> list[str] | None:
    """Return the candidates in which a node sees the token; None if no node was free in time, or Slurm refused."""
    look = "; ".join(
        f"[ -f {shlex.quote(f'{folder}/.{token}')} ] && echo {shlex.quote(folder)}" for folder in candidates
    )
    options = f"--quiet --nodes=1 --ntasks=1 --time=2 --immediate={_WAIT_S} --chdir=/ --job-name=wright-probe"
    line = f"srun {options} sh -c {shlex.quote(look + '; true')} </dev/null"
    result: CommandResult = remote.run(host, line, timeout_s=_WAIT_S + 30)
    return [row for row in result.out.splitlines() if row in candidates] if result.ok else None


def _not_shared(host: str, candidates: list[str], *, asked: bool) -> WrightError:
    names = ", ".join(candidates)
    message = (
        _("the nodes of {host}'s cluster do not see {folders}", host=host, folders=names)
        if asked
        else _("no node was free to show which of {folders} all nodes see", folders=names)
    )
    fix = _("name a folder on a file system of all nodes: export {variable}=FOLDER", variable=SHARED_VARIABLE)
    return WrightError.from_code("folder-not-shared", message, fix)
