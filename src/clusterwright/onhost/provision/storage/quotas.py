"""Disk quotas of users and teams: compares desired limits with the kernel's, by setquota and repquota.

Standard library only, Python 3.6 or later. The same programs serve ext4 and XFS (setquota(8)).
"""

from typing import Dict, List, Optional, Tuple

from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.host import ChangeError, Json, must, run

KIB = 1024
OPTION = {"user": "-u", "team": "-g"}
Key = Tuple[str, str]  # user or team, and the name


def plan_rows(rows: List[Json]) -> List[Json]:
    """Return one change for each quota that differs, or one for all of a folder that has no quotas yet."""
    changes = []
    for path in sorted({row["path"] for row in rows}):
        ours = [row for row in rows if row["path"] == path]
        have = limits(path)
        if have is None:
            changes.append(new_change(f"set quotas on {path} (limits: {len(ours)})", Verb.SET))
        else:
            changes += [new_change(f"{path}: {difference}", Verb.SET) for difference in differing(ours, have)]
    return changes


def differing(rows: List[Json], have: Dict[Key, int]) -> List[str]:
    """Return a text such as `quota of user alice none -> 1000000000 KiB` for each limit that differs."""
    differences = []
    for row in rows:
        now, desired = have.get((row["kind"], row["name"]), 0), kib(row)
        if now != desired:
            differences.append(
                f"quota of {row['kind']} {row['name']} {now or 'none'} -> {desired or 'none'} KiB"
            )
    return differences


def kib(row: Json) -> int:
    """Return the desired limit in KiB, the unit of setquota."""
    return int(row["bytes"]) // KIB


def do(rows: List[Json]) -> None:
    """Set each disk quota of `rows` that differs, by one call of setquota; a hard limit only, in KiB.

    Raises:
        ChangeError: a file system has no quotas, or setquota failed.
    """
    for path in sorted({row["path"] for row in rows}):
        have = limits(path)
        if have is None:
            raise ChangeError(
                f"{path} has no quotas: its file system is not mounted, or mounted without quotas. Check "
                f"`mount | grep {path}` and `quotaon -p {path}`, then run apply again",
                "host",
            )
        for row in rows:
            if row["path"] == path and have.get((row["kind"], row["name"]), 0) != kib(row):
                hard = str(kib(row))  # no soft limit: a job would not show the warning
                must(["setquota", OPTION[row["kind"]], row["name"], "0", hard, "0", "0", path])


def limits(path: str) -> Optional[Dict[Key, int]]:
    """Return the hard limits in KiB of a file system by user and team; None if it has no quotas."""
    limits_by_key = {}  # type: Dict[Key, int]
    for kind, option in OPTION.items():
        result = run(["repquota", option, "-v", path])
        if result.code != 0:
            return None
        limits_by_key.update({(kind, name): hard for name, hard in hard_limits(result.out).items()})
    return limits_by_key


def hard_limits(text: str) -> Dict[str, int]:
    """Return the hard block limits by name from repquota(8): `name -- used soft hard`, after the dashes."""
    lines = text.splitlines()
    begin = next((number for number, line in enumerate(lines, 1) if line.startswith("------")), len(lines))
    rows = [line.split() for line in lines[begin:]]
    return {row[0]: int(row[4]) for row in rows if len(row) > 4 and row[1][:1] in "+-"}
