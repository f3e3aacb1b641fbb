"""There is room."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.disks import Space, disks
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import GB

_SHARE = 0.10  # awesome-prometheus-alerts: less than 10 % free, of bytes or of inodes
_ENOUGH = (
    20 * GB
)  # ours: 10 % of a large disk is no shortage; logs and packages of a month take less than this
_FULL = 0.05  # imbue's cluster-health: 95 % used is a fault
_SYSTEM_PATHS = ("/", "/var", "/tmp")  # noqa: S108 (looked at, not used)


@check(
    disks,
    on=("deploy", "periodic", "prolog"),
    fix="find what fills it with `du -xh --max-depth=2 PATH | sort -h`; `df -i` for inodes",
)
def free_space(spec: HostSpec, have: dict[str, Space]) -> Iterator[Verdict]:
    """The system's disks have room and inodes, and every shared folder the declared free space."""
    verdicts = [
        verdict for path in _SYSTEM_PATHS if path in have for verdict in _check_system_path(path, have[path])
    ]
    for name, folder in spec.cluster.storage.items():
        space = have.get(folder.path)  # one that is not there is the finding of shared_folders
        if space and space.free_bytes < folder.free:
            observed = _(
                "{path}: {free_bytes:.1f} GB free", path=folder.path, free_bytes=space.free_bytes / GB
            )
            expected = _("{free:.3g} GB (storage.{name}.free)", free=folder.free / GB, name=name)
            verdicts.append(fault(observed=observed, expected=expected, part=folder.path))
    yield from verdicts or [
        fine(observed=_("room everywhere"), expected=_("10 % and inodes on /, /var, /tmp; storage.*.free"))
    ]


def _check_system_path(path: str, space: Space) -> Iterator[Verdict]:
    share = space.free_bytes / space.size_bytes if space.size_bytes else 1.0
    if share < _SHARE and space.free_bytes < _ENOUGH:
        observed = _(
            "{path}: {share:.0%} free, {free_bytes:.2g} GB",
            path=path,
            share=share,
            free_bytes=space.free_bytes / GB,
        )
        worst = Status.FAIL if share < _FULL else Status.WARN
        yield fault(observed=observed, expected="10 % free", otherwise=worst, part=path)
    free_inode_share = space.free_inodes / space.inodes if space.inodes else 1.0
    if free_inode_share < _SHARE:
        yield fault(
            observed=_(
                "{path}: {free_inode_share:.0%} of inodes free", path=path, free_inode_share=free_inode_share
            ),
            expected="10 % free",
            otherwise=Status.FAIL if free_inode_share < _FULL else Status.WARN,
            part=path,
        )
