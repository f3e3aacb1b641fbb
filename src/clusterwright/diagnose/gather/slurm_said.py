"""Slurm's records of a job, and its log about the job and its hosts, as sources of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.diagnose.gather.window import Window
from clusterwright.diagnose.reading import Source, of_text
from clusterwright.slurm.nodes import parse_node
from clusterwright.slurm.records import Record


def state_of(asked: Mapping[str, str]) -> str:
    """The job's state in one word: by accounting, or by slurmctld."""
    rows = [row for row in _rows(asked) if "." not in row.get("JobID", ".")]
    last = rows[-1].get("State", "") if rows else _record(asked)["JobState"]
    return last.partition(" ")[0]


def of_slurm(asked: Mapping[str, str], ids: Sequence[str], when: Window) -> Iterator[Source]:
    """Accounting as `State=... ExitCode=...`; of nodes the reasons, and of slurmctld the lines, from the job's time."""
    records = [" ".join(f"{key}={value}" for key, value in row.items() if value) for row in _rows(asked)]
    yield of_text("sacct", "\n".join(records), kind="sacct")
    yield of_text("scontrol show job", asked.get("job", ""), kind="scontrol")
    yield of_text("slurmctld", "\n".join(_log(asked, ids, when)), kind="slurm")
    for line in asked.get("nodes", "").splitlines():
        node = parse_node(line).record
        if node["NodeName"] in when.hosts and when.holds_reason(node["Reason"]):
            text = node.quoted("NodeName", "State", "Reason")
            yield of_text("scontrol show node", text, kind="scontrol", host=node["NodeName"])


def _rows(asked: Mapping[str, str]) -> list[dict[str, str]]:
    """Accounting records of the job and its steps."""
    names, *lines = asked.get("sacct", "").splitlines() or [""]
    return [dict(zip(names.split("|"), line.split("|"), strict=False)) for line in lines]


def _record(asked: Mapping[str, str]) -> Record:
    return Record.parse(asked.get("job", "").partition("\n")[0])


def _log(asked: Mapping[str, str], ids: Sequence[str], when: Window) -> list[str]:
    names = [rf"JobId={re.escape(one)}\b" for one in ids] + [rf"\b{re.escape(one)}\b" for one in when.hosts]
    about = re.compile("|".join(names))
    told = dict.fromkeys(
        asked.get("slurmctld", "").splitlines()
    )  # the journal and the file may hold the same
    return [line for line in told if about.search(line) and when.holds_line(line)]
