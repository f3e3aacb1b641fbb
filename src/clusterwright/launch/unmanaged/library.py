"""The library of jobs on a cluster where nothing is installed: one copy of each version beside the user's runs."""

from __future__ import annotations

import hashlib
import io
import shlex
import tarfile
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.edge import slurm
from clusterwright.edge.bundler import library
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.unmanaged.shared import SHARED_VARIABLE

if TYPE_CHECKING:
    from clusterwright.edge.host import Host

_FOLDER = ".library"
_SEND_S = 120.0
_THERE = "there"
# Print the first folder or link that another user could exchange; else, if the library is there, that. Every folder and
# link on the path, and on the path of each of these links, belongs to root or the user, and a folder is sticky if all
# users may write there; the library is the user's own.
_LOOK = f"""umask 022; mkdir -p "$parent" || exit; me=$(id -u)
refuse() {{ echo "$1"; exit; }}
trust() {{ status=$(stat -c '%u %a' "$1") || refuse "$1"
case ${{status%% *}} in 0|"$me") ;; *) refuse "$1";; esac
[ -L "$1" ] || case ${{status#* }} in [1357]???) ;; *[2367]) refuse "$1";; esac; }}
walk() {{ [ "$2" -lt 40 ] || refuse "$1"
while trust "$1"; [ "$1" != / ]; do
[ ! -L "$1" ] || case $(readlink "$1") in
/*) walk "$(readlink "$1")" $(($2 + 1));; *) walk "${{1%/*}}/$(readlink "$1")" $(($2 + 1));; esac
set -- "${{1%/*}}" "$2"; set -- "${{1:-/}}" "$2"; done; }}
walk "$runs" 0; walk "$(cd "$runs" && pwd -P)" 0
for path in "$parent" "$parent/$name"; do [ -e "$path" ] || exit 0
[ -O "$path" ] && [ ! -L "$path" ] || refuse "$path"; done; echo {_THERE}"""


def library_folder(runs: str) -> str:
    """Return the folder of this version's library in the folder of runs; another version has another folder."""
    return f"{runs}/{_FOLDER}/{_digest()}"


def install_library(host: Host, runs: str) -> None:
    """Write the library on the login host, as a whole or not at all, unless it is there; create the folder of runs.

    Raises:
        WrightError: the host does not answer, the folder cannot be written, or another user could exchange what is in
            it, which jobs execute.
    """
    folder = library_folder(runs)
    parent, name = folder.rsplit("/", 1)
    where = f"runs={shlex.quote(runs)} parent={shlex.quote(parent)} name={shlex.quote(name)}; "
    answer = slurm.checked(host.run(where + _LOOK), host.name, "sh").out.strip()
    if answer == _THERE:
        return
    if answer:
        raise _exchangeable(answer, host.name)
    line = (
        'umask 022 && cd "$parent" && new=$(mktemp -d) && tar -xz -C $new && chmod 755 $new'
        ' && { mv -T $new "$name" 2>/dev/null || rm -r $new; } && test -d "$name"'
    )
    slurm.checked(host.run(where + line, stdin=_archive(), timeout_s=_SEND_S), host.name, "tar")


def _exchangeable(folder: str, host: str) -> WrightError:
    """Return the error of a folder in which another user could exchange the programs of the jobs."""
    return WrightError.from_code(
        "runs-exchangeable",
        _(
            "another user could exchange {folder} on {host}, and with it the programs of your jobs",
            folder=folder,
            host=host,
        ),
        _("name a folder of your own: export {variable}=FOLDER, or --out FOLDER", variable=SHARED_VARIABLE),
        exit_code=EXIT_USAGE,
    )


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for path, text in sorted(library().items()):
        digest.update(f"{path}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def _archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in sorted(library().items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(data := text.encode()), 0o644
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
