"""System disks and shared folders have free space."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.disks import Space, disks
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import GB, human_percent

_SHARE = 0.10  # awesome-prometheus-alerts: less than 10 % free, of bytes or of inodes
_ENOUGH = 20 * GB  # ours: with this much free a large disk may be over 90 % full; a month of logs takes less
_FULL = 0.05  # imbue-ai/cluster-health: 95 % used is a fault
_SYSTEM_PATHS = ("/", "/var", "/tmp")  # nosec B108 # noqa: S108 (read only)


@check(
    disks,
    on=("deploy", "periodic", "prolog"),
    fix="find the largest folders with `du -xh --max-depth=2 PATH | sort -h` and free space; `df -i` shows inodes",
    in_jobs=True,
)
def free_space(spec: HostSpec, have: dict[str, Space]) -> Iterator[Verdict]:
    """System disks have free space and inodes, and every shared folder has its declared free space.

    /, /var and /tmp warn below 10% and 20 GB of free space, or below 10% of inodes; below 5% they fail.
    """
    verdicts = [
        verdict for path in _SYSTEM_PATHS if path in have for verdict in _check_system_path(path, have[path])
    ]
    for name, folder in spec.cluster.storage.items():
        space = have.get(folder.path)  # shared_folders reports missing ones
        if space and space.free_bytes < folder.free:
            observed = _("{path}: {free:.1f} GB free", path=folder.path, free=space.free_bytes / GB)
            expected = _(
                "at least {free:.3g} GB of free space (storage.{name}.free)", free=folder.free / GB, name=name
            )
            verdicts.append(fault(observed=observed, expected=expected, part=folder.path))
    yield from verdicts or [
        fine(
            observed=_("enough free space"),
            expected=_("10% of space and inodes free on /, /var, /tmp; storage.*.free"),
        )
    ]


def _check_system_path(path: str, space: Space) -> Iterator[Verdict]:
    share = space.free_bytes / space.size_bytes if space.size_bytes else 1.0
    if share < _SHARE and space.free_bytes < _ENOUGH:
        observed = _(
            "{path}: {share} ({free:.2g} GB) of the space is free",
            path=path,
            share=human_percent(share),
            free=space.free_bytes / GB,
        )
        worst = Status.FAIL if share < _FULL else Status.WARN
        yield fault(
            observed=observed, expected=_("at least 10% of the space is free"), otherwise=worst, part=path
        )
    free_inode_share = space.free_inodes / space.inodes if space.inodes else 1.0
    if free_inode_share < _SHARE:
        yield fault(
            observed=_("{path}: {share} of inodes free", path=path, share=human_percent(free_inode_share)),
            expected=_("at least 10% of the inodes are free"),
            otherwise=Status.FAIL if free_inode_share < _FULL else Status.WARN,
            part=path,
        )
