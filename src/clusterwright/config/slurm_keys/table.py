"""The two tables: keys from the option tables of Slurm's parser, words from its plugins and sources.

Made by tools/slurm-keys from Slurm's tree at the release tags; the head of each table names them.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# 19.05 is what Ubuntu 20.04 ships. We render for 21.08 and later; for older ones we leave out what they lack.
RELEASES = (
    "19.05", "20.02", "20.11", "21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05",
)  # fmt: skip


def release(version: str) -> str:
    """The release that a version is of, as text that sorts by time: 22.05.8 is of 22.05."""
    return ".".join(version.split(".")[:2])


@dataclass(frozen=True, slots=True)
class Span:
    """From which release to which a name is taken; empty: from before the table begins, or still."""

    name: str
    first_release: str
    last_release: str
    defunct: str  # from this release on it is read, logged as an error, and does nothing

    def covers(self, slurm_release: str) -> bool:
        """True when that release takes it."""
        return self.first_release <= slurm_release and (
            not self.last_release or slurm_release <= self.last_release
        )

    def is_defunct(self, slurm_release: str) -> bool:
        """True when that release takes it and does nothing with it."""
        return bool(self.defunct) and self.defunct <= slurm_release


@cache
def key_spans(file: str, line: str = "") -> dict[str, Span]:
    """Keys of a file, or of one kind of its lines, by their name in lower case: Slurm does not mind case."""
    return {
        row["key"].lower(): Span(row["key"], row["since"], row["until"], row["defunct"])
        for row in _table("keys.csv")
        if (row["file"], row["line"]) == (file, line)
    }


@cache
def line_keys(file: str) -> frozenset[str]:
    """The keys that begin a line with keys of its own, in lower case: nodename, partitionname."""
    return frozenset(row["line"].lower() for row in _table("keys.csv") if row["file"] == file and row["line"])


@cache
def value_spans(key: str) -> dict[str, Span]:
    """Plugins that a key may name, or those words of its list that came, went or are ours."""
    return {
        row["word"].lower(): Span(row["word"], row["since"], row["until"], row["defunct"])
        for row in _table("words.csv")
        if row["key"].lower() == key.lower()
    }


@cache
def _table(name: str) -> tuple[dict[str, str], ...]:
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return tuple(csv.DictReader(line for line in lines if not line.startswith("#")))


_DAEMONS = ""  # no field: units, firewall, logs and folders rest on it
_NODES, _PARTITIONS = "nodes", "partitions"
_HEALTH, _ACCOUNTING, _POWER = "slurm.health", "accounting", "slurm.power_saving"

# Key in lower case -> the field that decides it. A key of ours that is not here may be set: the site's value stands.
OURS: dict[str, str] = {
    "clustername": "name",
    **dict.fromkeys(("slurmctldhost", "nodename", "downnodes", "nodeset", "include", "controlmachine"), _NODES),
    **dict.fromkeys(("controladdr", "backupcontroller", "backupaddr"), _NODES),
    "grestypes": "nodes.NAME.gpus",
    "partitionname": _PARTITIONS,
    "srunportrange": "slurm.ports",
    "slurmdtimeout": "slurm.node_timeout",
    "killwait": "slurm.kill_wait",
    **dict.fromkeys(("topologyplugin", "topologyparam"), "slurm.topology"),
    **dict.fromkeys(
        (
            "slurmuser", "slurmctldport", "slurmdport", "statesavelocation", "slurmdspooldir", "slurmctldpidfile",
            "slurmdpidfile", "slurmctldlogfile", "slurmdlogfile", "authtype", "credtype", "cryptotype", "plugindir",
            "proctracktype", "selecttype", "schedulertype", "slurmduser",
        ),
        _DAEMONS,
    ),
    **dict.fromkeys(
        (
            "prolog", "epilog", "prologflags", "healthcheckprogram", "unkillablestepprogram", "taskprolog",
        ),
        _HEALTH,
    ),
    **dict.fromkeys(
        (
            "accountingstoragetype", "accountingstoragehost", "accountingstorageport", "accountingstorageenforce",
            "accountingstoragetres", "accountingstoragepass", "accountingstoragebackuphost", "jobacctgathertype",
            "prioritytype",
        ),
        _ACCOUNTING,
    ),
    "prioritydecayhalflife": "accounting.half_life",
    **dict.fromkeys(("preempttype", "preemptmode"), "qos.NAME.preempts and qos.NAME.preempt_mode"),
    **dict.fromkeys(
        ("suspendtime", "suspendprogram", "resumeprogram", "resumefailprogram", "resumetimeout", "suspendtimeout",
         "suspendexcnodes"),
        _POWER,
    ),
}  # fmt: skip

# Lists of words: what the site writes is joined with ours, and its word wins over ours of the same name.
LIST_VALUED_KEYS = frozenset(
    {
        "schedulerparameters", "slurmctldparameters", "slurmdparameters", "launchparameters", "preemptparameters",
        "communicationparameters", "priorityflags", "authinfo", "debugflags", "accountingstoreflags",
        "propagateresourcelimitsexcept",
    }
)  # fmt: skip
