"""Find a folder for runs that the user can write and all nodes mount: a short job on a node shows it."""

from __future__ import annotations

import secrets
import shlex

from clusterwright.edge.host import Host
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.slurm import client
from clusterwright.slurm.records import split_lines

SHARED_VARIABLE = "CLUSTERWRIGHT_SHARED"  # names the folder; without it, the first of these that a node sees
_FOLDER = "wright"
_BASES = ("$SCRATCH", "$WORK", "$HOME")
_WAIT_S = 45  # for a free node; a full cluster is queried again by the next command
# Types of file systems that hosts share, as `stat -f` names them: what counts where no node is free.
_SHARED_TYPES = frozenset(
    ["afs", "beegfs", "ceph", "fuseblk", "gpfs", "lustre", "nfs", "nfs4", "panfs", "smb2", "wekafs"]
)


def find_shared(host: Host, named: str | None) -> str:
    """Return the folder for `runs`, created if it was missing: `named`, else the first candidate that a node sees.

    Raises:
        WrightError: the user can write none, or no node sees one.
    """
    token = f".{secrets.token_hex(8)}"
    types = _write_token(host, named, token)
    try:
        visible = _visible_on_a_node(host, list(types), token)
    finally:
        host.run("rm -f " + shlex.join(f"{folder}/{token}" for folder in types))
    folders = [folder for folder in types if types[folder] in _SHARED_TYPES] if visible is None else visible
    if not folders:
        raise _not_shared(host.name, list(types), is_visible=visible is not None)
    return folders[0]


def _write_token(host: Host, named: str | None, token: str) -> dict[str, str]:
    """Write a file named `token` into each candidate folder for runs, created if needed: `named`, or the usual ones.

    Return those that the user can write, with the type of their file system.

    Raises:
        WrightError: `no-runs-folder`: none is writable.
    """
    bases = shlex.quote(named) if named else " ".join(f'"{base}/{_FOLDER}"' for base in _BASES)
    command = (
        f"for folder in {bases}; do case $folder in /{_FOLDER}) continue;; esac; "
        'mkdir -p "$folder" 2>/dev/null && cd "$folder" 2>/dev/null && '
        f': 2>/dev/null >{token} && echo "$(stat -f -c %T .) $(pwd)"; done; true'
    )
    rows = [row.partition(" ") for row in split_lines(host.run(command).out)]
    types = {folder: kind for kind, _space, folder in rows if folder.startswith("/")}
    if not types:
        raise WrightError.from_code(
            "no-runs-folder",
            _("{host} has no folder for runs that you can write", host=host.name),
            _(
                "name a folder on a file system that all nodes mount: export {variable}=FOLDER",
                variable=SHARED_VARIABLE,
            ),
        )
    return types


def _visible_on_a_node(host: Host, folders: list[str], token: str) -> list[str] | None:
    """Return the folders in which a node sees the token; None if no node was free in time, or Slurm refused the job."""
    tests = [f"[ -f {shlex.quote(f'{folder}/{token}')} ] && echo {shlex.quote(folder)}" for folder in folders]
    command = client.line(client.run_once("; ".join([*tests, "true"]), "wright-probe", _WAIT_S))
    result = host.run(f"{command} </dev/null", timeout_s=_WAIT_S + 30)
    return [row for row in split_lines(result.out) if row in folders] if result.ok else None


def _not_shared(host: str, folders: list[str], *, is_visible: bool) -> WrightError:
    names = ", ".join(folders)
    message = (
        _("the nodes of {host}'s cluster do not see {folders}", host=host, folders=names)
        if is_visible
        else _("no node was free to show which of {folders} all nodes see", folders=names)
    )
    fix = _("name a folder on a file system of all nodes: export {variable}=FOLDER", variable=SHARED_VARIABLE)
    return WrightError.from_code("folder-not-shared", message, fix)
