"""What Slurm's commands print, of releases 21.08 to 26.05. Pure.

A key that a release does not have is missing, one that it has beside is passed over.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z:/]*)=(\S*)")
_GPU = re.compile(r"gpu(?::[A-Za-z][\w.-]*)?:(\d+)")
_TRES_GPU = re.compile(r"gres/gpu=(\d+)")
_SAID_BY = re.compile(r"(.*?) \[([\w.$-]+)@(\S+)\]")
# In the order in which they count, as sinfo has it: a node has one base state, and any of these.
FLAGS = (
    ("DOWN", "down"), ("FAIL", "fail"), ("FAILING", "fail"), ("DRAIN", ""), ("NOT_RESPONDING", "not_responding"),
    ("POWERED_DOWN", "powered_down"),
    ("POWERING_DOWN", "powering_down"), ("POWERING_UP", "powering_up"), ("POWER_UP", "powering_up"),
    ("POWERED_OFF", "powered_down"), ("REBOOT_ISSUED", "rebooting"), ("REBOOT_REQUESTED", "rebooting"),
    ("REBOOT", "rebooting"), ("MAINTENANCE", "maint"), ("MAINT", "maint"), ("RESERVED", "reserved"),
    ("COMPLETING", "completing"), ("PLANNED", "planned"),
)  # fmt: skip
BUSY = ("ALLOCATED", "MIXED", "COMPLETING")


class Node(NamedTuple):
    """One node as slurmctld sees it."""

    name: str
    states: Tuple[str, ...]
    partitions: Tuple[str, ...]
    cpus: int
    cpus_held: int
    gpus: int
    gpus_held: int
    reason: str

    @property
    def state(self) -> str:
        """In one word, as sinfo has it."""
        for flag, word in FLAGS:
            if flag in self.states:
                return word or ("draining" if set(BUSY) & set(self.states) else "drained")
        return self.states[0].lower()

    @property
    def usable(self) -> bool:
        """Whether what is free of it can be had."""
        return self.state in ("idle", "mixed", "allocated", "completing", "planned", "reserved")

    @property
    def drained(self) -> bool:
        """Whether somebody keeps jobs away."""
        return "DRAIN" in self.states


class Job(NamedTuple):
    """One row of squeue; an array of jobs that wait is one."""

    number: str
    state: str
    partition: str
    account: str
    reason: str
    submitted: Optional[float]
    eligible: Optional[float]
    gpus: int


# squeue's fields and how wide they are: columns, so that no word of a stranger's can be taken for two.
COLUMNS = (
    ("JobID", 20), ("State", 20), ("Partition", 100), ("Account", 100), ("Reason", 60), ("SubmitTime", 24),
    ("EligibleTime", 24), ("tres-alloc", 300),
)  # fmt: skip


def nodes(text: str) -> List[Node]:
    """From `scontrol -d -o show node`; a line that is none is passed over."""
    return [node for node in map(_node, text.splitlines()) if node]


def _node(line: str) -> Optional[Node]:
    line = line.partition(" Comment=")[0]  # words of people come last, so nothing is read from behind them
    told, _, reason = line.partition(" Reason=")
    rows: Dict[str, str] = dict(_PAIR.findall(told))
    name, state = rows.get("NodeName", ""), rows.get("State", "")
    if not name or not state:
        return None
    said = _SAID_BY.match(reason)
    partitions = tuple(part for part in rows.get("Partitions", "").split(",") if part and part != "(null)")
    return Node(
        name, tuple(word.rstrip("*~#!%$@^-") for word in state.split("+")), partitions,
        _whole(rows.get("CPUTot")), _whole(rows.get("CPUAlloc")), _gpus(rows.get("Gres", ""), rows.get("CfgTRES", "")),
        _gpus(rows.get("GresUsed", ""), rows.get("AllocTRES", "")), said[0] if said else reason.strip(),
    )  # fmt: skip


def _gpus(gres: str, tres: str) -> int:
    """`gpu:a100:4(S:0-1)`, several kinds added; without, what is accounted for."""
    found = [int(count) for count in _GPU.findall(re.sub(r"\([^)]*\)", "", gres))]
    if found or "gres/gpu" not in tres:
        return sum(found)
    whole = _TRES_GPU.search(tres)
    return int(whole[1]) if whole else 0


def squeue() -> List[str]:
    """The command that `jobs` reads; times as seconds since the epoch (SLURM_TIME_FORMAT=%s)."""
    return ["squeue", "-h", "-a", "-O", ",".join(f"{name}:{width}" for name, width in COLUMNS)]


def jobs(text: str) -> List[Job]:
    """Its rows; one of another form is passed over."""
    found = []
    for line in text.splitlines():
        cells = list(_cells(line))
        if cells[0].partition("_")[0].isdigit() and cells[1].isupper():
            gpus = _TRES_GPU.search(cells[7])
            times = (_seconds(cells[5]), _seconds(cells[6]))
            found.append(
                Job(cells[0], cells[1], cells[2], cells[3], cells[4], *times, int(gpus[1]) if gpus else 0)
            )
    return found


def _cells(line: str) -> Iterator[str]:
    place = 0
    for _, width in COLUMNS:
        yield line[place : place + width].strip()
        place += width


def diagnosis(text: str) -> Dict[str, float]:
    """From sdiag: seconds of the last cycle of either scheduler, and threads."""
    found: Dict[str, float] = {}
    part = ""
    for line in text.splitlines():
        name, _, value = (piece.strip() for piece in line.partition(":"))
        if name.startswith("Main schedule statistics"):
            part = "cycle"
        elif name.startswith("Backfilling stats"):
            part = "backfill"
        elif name.startswith(("Latency for", "Remote Procedure")):
            part = ""
        elif name == "Server thread count" and value.isdigit():
            found["threads"] = float(value)
        elif name == "Last cycle" and part and value.isdigit():
            found[part] = int(value) / 1e6
    return found


class Share(NamedTuple):
    """What an account may have, and has had, of all."""

    account: str
    share: Optional[float]
    use: Optional[float]
    fairshare: Optional[float]


def shares(text: str) -> List[Share]:
    """From `sshare -a -n -P -o Account,User,NormShares,EffectvUsage,FairShare`.

    By fair tree only users have a factor: an account's is then their mean.
    """
    own: Dict[str, Share] = {}
    users: Dict[str, List[float]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 5 or cells[0] in ("", "root"):
            continue
        account, user, share, use, fair = cells[0], cells[1], *map(_ratio, cells[2:5])
        if user:
            users.setdefault(account, []).extend([fair] if fair is not None else [])
        else:
            own[account] = Share(account, share, use, fair)
    return [
        row._replace(fairshare=sum(users[name]) / len(users[name]))
        if row.fairshare is None and users.get(name)
        else row
        for name, row in own.items()
    ]


def _ratio(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None


def _whole(text: Optional[str]) -> int:
    return int(text) if text and text.isdigit() else 0


def _seconds(text: str) -> Optional[float]:
    return float(text) if text.isdigit() else None
