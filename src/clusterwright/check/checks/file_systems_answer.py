"""The file systems answer."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.folders_answer import folders_answer
from clusterwright.check.verdict import Status, Verdict

_SLOW_S = (
    1.0  # ours: a file system that is only asked how full it is, and takes that long, makes every `ls` wait
)
_WANT = "an answer at once, 5 s at the very most"


@check(
    folders_answer,
    on=("deploy", "periodic", "burn-in", "boot"),
    mend="see the server and the path to it; `umount -f -l PATH`, then mount it again, or reboot the host",
)
def file_systems_answer(want: Want, have: dict[str, float | str]) -> Iterator[Verdict]:
    """Every shared folder and local disk says how full it is, within five seconds and without an error."""
    shared = {folder.path: name for name, folder in want.cluster.storage.items()}
    found = []
    for path, said in have.items():
        wanted = f"{_WANT} (storage.{shared[path]})" if path in shared else _WANT
        if said == "not asked":
            found.append(unknown(f"{path}: the host is too busy to ask", want=wanted, part=path))
        elif (
            isinstance(said, str) and "No such file" not in said
        ):  # one that is not there: see shared_folders
            found.append(fault(saw=f"{path}: {said}", want=wanted, part=path))
        elif not isinstance(said, str) and said > _SLOW_S:
            saw = f"{path} took {said:.1f} s"
            found.append(fault(saw=saw, want=wanted, part=path, otherwise=Status.WARN))
    yield from found or [fine(saw=f"{len(have)} answer at once", want=_WANT)]
