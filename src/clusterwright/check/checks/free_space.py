"""There is room."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import Want
from clusterwright.check.facts.disks import Space, disks
from clusterwright.check.verdict import Status, Verdict
from clusterwright.units import GB

_SHARE = 0.10  # awesome-prometheus-alerts: less than 10 % free, of bytes or of inodes
_ENOUGH = (
    20 * GB
)  # ours: 10 % of a large disk is no shortage; logs and packages of a month take less than this
_FULL = 0.05  # imbue's cluster-health: 95 % used is a fault
_OWN = ("/", "/var", "/tmp")  # noqa: S108 (looked at, not used)


@check(
    disks,
    on=("deploy", "periodic", "prolog"),
    mend="find what fills it with `du -xh --max-depth=2 PATH | sort -h`; `df -i` for inodes",
)
def free_space(want: Want, have: dict[str, Space]) -> Iterator[Verdict]:
    """The system's disks have room and inodes, and every shared folder the declared free space."""
    found = [verdict for path in _OWN if path in have for verdict in _own(path, have[path])]
    for name, folder in want.cluster.storage.items():
        space = have.get(folder.path)  # one that is not there is the finding of shared_folders
        if space and space.free_bytes < folder.free:
            saw = f"{folder.path}: {space.free_bytes / GB:.1f} GB free"
            wanted = f"{folder.free / GB:.3g} GB (storage.{name}.free)"
            found.append(fault(saw=saw, want=wanted, part=folder.path))
    yield from found or [fine(saw="room everywhere", want="10 % and inodes on /, /var, /tmp; storage.*.free")]


def _own(path: str, space: Space) -> Iterator[Verdict]:
    share = space.free_bytes / space.size_bytes if space.size_bytes else 1.0
    if share < _SHARE and space.free_bytes < _ENOUGH:
        saw = f"{path}: {share:.0%} free, {space.free_bytes / GB:.2g} GB"
        worst = Status.FAIL if share < _FULL else Status.WARN
        yield fault(saw=saw, want="10 % free", otherwise=worst, part=path)
    left = space.free_inodes / space.inodes if space.inodes else 1.0
    if left < _SHARE:
        yield fault(
            saw=f"{path}: {left:.0%} of inodes free",
            want="10 % free",
            otherwise=Status.FAIL if left < _FULL else Status.WARN,
            part=path,
        )
