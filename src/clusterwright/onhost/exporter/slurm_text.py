"""Parses the output of Slurm's commands, releases 21.08 to 26.05. Pure.

A key that a release lacks is missing in the result; an additional one is ignored.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional

from clusterwright.slurm.jobs import FORMAT_FIELDS, Job, make_jobs
from clusterwright.slurm.records import split_lines

# squeue's fields and column widths: fixed columns, so that user text with spaces cannot shift fields.
COLUMNS = (
    ("number", 20), ("state", 20), ("partition", 100), ("account", 100), ("reason", 60), ("submit", 24),
    ("eligible", 24), ("tres", 300),
)  # fmt: skip


def squeue() -> List[str]:
    """Return the squeue command whose output `jobs` parses; times are epoch seconds only with SLURM_TIME_FORMAT=%s."""
    return ["squeue", "-h", "-a", "-O", ",".join(f"{FORMAT_FIELDS[name]}:{width}" for name, width in COLUMNS)]


def jobs(text: str) -> List[Job]:
    """Return the jobs of squeue's output, a pending array as one; malformed lines are skipped."""
    rows = [list(_cells(line)) for line in split_lines(text)]
    return make_jobs(
        [row for row in rows if row[0].partition("_")[0].isdigit()], [name for name, _ in COLUMNS]
    )


def _cells(line: str) -> Iterator[str]:
    offset = 0
    for _, width in COLUMNS:
        yield line[offset : offset + width].strip()
        offset += width


def diagnosis(text: str) -> Dict[str, float]:
    """Return from sdiag's output the seconds of the last main (`cycle`) and `backfill` cycle, and `threads`.

    Values that the output lacks are left out.
    """
    result: Dict[str, float] = {}
    part = ""
    for line in split_lines(text):
        name, _, value = (piece.strip() for piece in line.partition(":"))
        if name.startswith("Main schedule statistics"):
            part = "cycle"
        elif name.startswith("Backfilling stats"):
            part = "backfill"
        elif name.startswith(("Latency for", "Remote Procedure")):
            part = ""
        elif name == "Server thread count" and value.isdigit():
            result["threads"] = float(value)
        elif name == "Last cycle" and part and value.isdigit():
            result[part] = int(value) / 1e6
    return result


class Share(NamedTuple):
    """An account's share of the cluster, its usage, and its fairshare factor."""

    account: str
    share: Optional[float]
    use: Optional[float]
    fairshare: Optional[float]


def shares(text: str) -> List[Share]:
    """Return the share of each account from `sshare -a -n -P -o Account,User,NormShares,EffectvUsage,FairShare`.

    With the fair tree algorithm only users have a factor: an account gets their mean. The account root is left out.
    """
    accounts: Dict[str, Share] = {}
    users: Dict[str, List[float]] = {}
    for line in split_lines(text):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 5 or cells[0] in ("", "root"):
            continue
        account, user, share, use, fair = cells[0], cells[1], *map(_ratio, cells[2:5])
        if user:
            users.setdefault(account, []).extend([fair] if fair is not None else [])
        else:
            accounts[account] = Share(account, share, use, fair)
    return [
        row._replace(fairshare=sum(users[name]) / len(users[name]))
        if row.fairshare is None and users.get(name)
        else row
        for name, row in accounts.items()
    ]


def _ratio(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None
