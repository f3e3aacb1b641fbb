"""RAID levels: usable capacity, rates, cost of small writes, rebuild time."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

# Disk operations for one small write: a mirror writes twice; RAID 5 reads and writes data and parity; RAID 6 data and
# two parities (Chen et al., "RAID: high-performance, reliable secondary storage", ACM Computing Surveys 26-2, 1994).
_WRITES = {"0": 1, "1": 2, "10": 2, "5": 4, "6": 6}
_FEWEST = {"0": 1, "1": 2, "10": 4, "5": 3, "6": 4}
_SURVIVES = {"0": 0, "1": 1, "10": 1, "5": 1, "6": 2}


@dataclass(frozen=True, slots=True)
class Disk:
    """One disk; the default is a data center NVMe disk of PCIe 4.0 (Samsung PM9A3, https://heise.de/-4720224)."""

    size_bytes: float = 3.84e12
    read_bytes_per_s: float = 6.5e9
    write_bytes_per_s: float = 3.5e9
    read_iops: float = 900e3
    write_iops: float = 200e3


@dataclass(frozen=True, slots=True)
class Array:
    """An array of disks with one RAID level."""

    level: str
    disks: int
    usable_bytes: float
    survives: int  # any number of disks up to this may fail
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: float
    write_iops: float
    rebuild_s: float  # of one disk, at its full write rate; 0: no rebuild


def array(level: str, disks: int, disk: Disk | None = None) -> Array:
    """Compute capacity in bytes and rates of `disks` disks with RAID level 0, 1 (two disks), 5, 6 or 10.

    `disk` defaults to `Disk()`. `rebuild_s` is the time to write one disk, 0 for level 0.

    Raises:
        WrightError: storage-raid, for an unknown level or an impossible number of disks.
    """
    if level not in _WRITES:
        raise _refused(
            _("RAID `{level}` is not one of {levels}", level=level, levels=", ".join(_WRITES)),
            _("use 10, 6 or 0"),
        )
    if disks < _FEWEST[level] or (level == "10" and disks % 2) or (level == "1" and disks != 2):
        message = _("RAID {level} is not possible with {disks} disks", level=level, disks=disks)
        if level == "10":
            raise _refused(message, _("use an even number of at least 4 disks"))
        if level == "1":
            raise _refused(message, _("use 2 disks"))
        raise _refused(message, _("use at least {count} disks", count=_FEWEST[level]))
    disk_model = disk or Disk()
    data = {"0": disks, "1": 1, "10": disks // 2, "5": disks - 1, "6": disks - 2}[level]
    return Array(
        level=level,
        disks=disks,
        usable_bytes=data * disk_model.size_bytes,
        survives=_SURVIVES[level],
        read_bytes_per_s=disks * disk_model.read_bytes_per_s,
        write_bytes_per_s=data * disk_model.write_bytes_per_s,
        read_iops=disks * disk_model.read_iops,
        write_iops=disks * disk_model.write_iops / _WRITES[level],
        rebuild_s=disk_model.size_bytes / disk_model.write_bytes_per_s if _SURVIVES[level] else 0.0,
    )


def best_level(use: str, disks: int, disk: Disk | None = None) -> Array:
    """Return the array with the best RAID level for a use: metadata, scratch or capacity.

    Metadata needs small writes that must not be lost: the most write operations/s among levels that survive a
    disk. Scratch can be restored: the most bytes/s, without parity. Capacity: the most bytes among levels that
    survive two disks, as a second one may fail during a rebuild.

    Raises:
        WrightError: storage-raid, for another use.
    """
    judge = {
        "metadata": lambda candidate: (candidate.survives >= 1, candidate.write_iops),
        "scratch": lambda candidate: (True, candidate.write_bytes_per_s),
        "capacity": lambda candidate: (candidate.survives >= 2, candidate.usable_bytes),
    }
    if use not in judge:
        raise _refused(
            _("unknown use `{use}` of a RAID array", use=use), _("use one of {uses}", uses=", ".join(judge))
        )
    return max((array(level, disks, disk) for level in _possible(disks)), key=judge[use])


def _possible(disks: int) -> list[str]:
    """Return the RAID levels possible with this number of disks, simplest first."""
    return [
        level
        for level, fewest in _FEWEST.items()
        if disks >= fewest and not (level == "10" and disks % 2) and not (level == "1" and disks != 2)
    ]


def _refused(message: str, fix: str) -> WrightError:
    return WrightError.from_code("storage-raid", message, fix, exit_code=EXIT_USAGE)
