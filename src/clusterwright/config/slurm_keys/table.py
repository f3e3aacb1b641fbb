"""The tables of keys (from the option tables of Slurm's parser) and words (from its plugins and sources).

tools/slurm-keys generates them from Slurm's source at the release tags, which the head of each table lists.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Ubuntu 20.04 ships 19.05; files are rendered for 21.08 and later.
RELEASES = (
    "19.05", "20.02", "20.11", "21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05",
)  # fmt: skip


def release(version: str) -> str:
    """Return the release of a version, as a string that sorts by time: 22.05 for 22.05.8."""
    return ".".join(version.split(".")[:2])


@dataclass(frozen=True, slots=True)
class Span:
    """The first and last release that support a key or word; empty: before the first table, or still supported."""

    name: str
    first_release: str
    last_release: str
    defunct: str  # from this release on it has no effect, and slurmctld logs an error

    def covers(self, slurm_release: str) -> bool:
        """Return whether that release supports the key or word."""
        return self.first_release <= slurm_release and (
            not self.last_release or slurm_release <= self.last_release
        )

    def is_defunct(self, slurm_release: str) -> bool:
        """Return True if that release accepts the key or word without any effect."""
        return bool(self.defunct) and self.defunct <= slurm_release


@cache
def key_spans(file: str, line: str = "") -> dict[str, Span]:
    """Return the keys of a file, or of one kind of its lines, by lower-case name, as Slurm ignores case."""
    return {
        row["key"].lower(): Span(row["key"], row["since"], row["until"], row["defunct"])
        for row in _table("keys.csv")
        if (row["file"], row["line"]) == (file, line)
    }


@cache
def line_keys(file: str) -> frozenset[str]:
    """Return the first keys of lines that have their own keys, in lower case: nodename, partitionname."""
    return frozenset(row["line"].lower() for row in _table("keys.csv") if row["file"] == file and row["line"])


@cache
def value_spans(key: str) -> dict[str, Span]:
    """Return plugins that a key may name, or words of its list that releases added or removed or that we set."""
    return {
        row["word"].lower(): Span(row["word"], row["since"], row["until"], row["defunct"])
        for row in _table("words.csv")
        if row["key"].lower() == key.lower()
    }


@cache
def _table(name: str) -> tuple[dict[str, str], ...]:
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return tuple(csv.DictReader(line for line in lines if not line.startswith("#")))


_DAEMONS = ""  # set by no field: units, firewall, logs and folders depend on it
_NODES, _PARTITIONS = "nodes", "partitions"
_HEALTH, _ACCOUNTING, _POWER = "slurm.health", "accounting", "slurm.power_saving"

# Lower-case key -> the field that sets it. Other keys that we render may be set in slurm.options, which takes
# precedence.
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
    **dict.fromkeys(("preempttype", "preemptmode"), "qos.NAME.preempts, qos.NAME.preempt_mode"),
    **dict.fromkeys(
        ("suspendtime", "suspendprogram", "resumeprogram", "resumefailprogram", "resumetimeout", "suspendtimeout",
         "suspendexcnodes"),
        _POWER,
    ),
}  # fmt: skip

# Lists of words: the site's words are merged with ours and override ours of the same name.
LIST_VALUED_KEYS = frozenset(
    {
        "schedulerparameters", "slurmctldparameters", "slurmdparameters", "launchparameters", "preemptparameters",
        "communicationparameters", "priorityflags", "authinfo", "debugflags", "accountingstoreflags",
        "propagateresourcelimitsexcept",
    }
)  # fmt: skip
