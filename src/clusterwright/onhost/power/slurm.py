"""What Slurm says of its hosts, and what it is told of them."""

import re
import subprocess
from typing import Dict, FrozenSet, List, NamedTuple, Optional

LIMIT_S = 20
_ROW = re.compile(r"NodeName=(\S+) .*?\bState=(\S+)")
_REASON = re.compile(r"\bReason=(.*?)(?: \[[^\]]*@[^\]]*\])?(?: Comment=.*)?$")


class Node(NamedTuple):
    """One host as slurmctld has it: the words of its state without marks, and the reason."""

    state: FrozenSet[str]
    reason: str


def nodes() -> Optional[Dict[str, Node]]:
    """Every host; None where slurmctld does not answer."""
    done = _run(["scontrol", "--oneliner", "show", "nodes"])
    return None if done is None else parse(done)


def parse(text: str) -> Dict[str, Node]:
    """Rows of `scontrol --oneliner show nodes`."""
    found = {}
    for line in text.splitlines():
        row, reason = _ROW.search(line), _REASON.search(line)
        if row:
            words = re.split(r"[+*~#!%$@^-]+", row.group(2))
            found[row.group(1)] = Node(frozenset(filter(None, words)), reason.group(1) if reason else "")
    return found


def update(hosts: List[str], *words: str) -> str:
    """One `scontrol update` of these hosts; its complaint, or nothing."""
    done = _run(["scontrol", "update", "NodeName=" + ",".join(hosts), *words], complaint=True)
    return (done or "").strip()


def _run(argv: List[str], complaint: bool = False) -> Optional[str]:
    """What it prints; with `complaint`, only where it fails."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as why:
        return str(why) if complaint else None
    out = done.stdout.decode(errors="replace")
    if complaint:
        return (out or "scontrol failed") if done.returncode else ""
    return out if done.returncode == 0 else None
