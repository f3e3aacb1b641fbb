"""The baseline of a site's hosts: limits, units of the cluster and firewall as `wright adopt` read them.

It is a file next to the cluster file, because no field holds these settings; `wright diff` compares hosts with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from clusterwright.adopt.firewalls import Rules, firewall_rules
from clusterwright.adopt.host_texts import file_lines
from clusterwright.adopt.meaning import Difference
from clusterwright.adopt.recorded import RecordedHost
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold

SUFFIX = ".baseline.json"
FIREWALL_ROLES = ("packet_filter", "firewalld")
# The role that writes the files of a unit.
UNIT_ROLES = {
    "slurmctld": "slurm",
    "slurmd": "slurm",
    "slurmrestd": "slurm",
    "sackd": "slurm",
    "slurmdbd": "accounting",
    "munge": "munge",
}
_UNIT = re.compile(rf"/({'|'.join(UNIT_ROLES)})(\.service(\.d/.*)?)?")
_OUR_FILE = re.compile(r"/(\d+-)?clusterwright[^/]*$")  # of a role, which may be applied later
_SECRET = re.compile(r"(\w*(?:PASS|SECRET|TOKEN|KEY)\w*)=\S+", re.IGNORECASE)
FileLines = dict[str, list[tuple[int, str]]]  # by path: number and text of the lines that are no comments


@dataclass(frozen=True, slots=True)
class HostBaseline:
    """Settings of one host.

    `states`: units that are enabled or masked. `rules`: of the firewall, by chain or zone; None if only root may read
    them.
    """

    limits: FileLines = field(default_factory=dict)
    units: FileLines = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    firewall: FileLines = field(default_factory=dict)
    rules: Rules | None = None


_HOSTS: TypeAdapter[dict[str, HostBaseline]] = TypeAdapter(dict[str, HostBaseline])
Baseline = Mapping[str, HostBaseline]  # by host


def baseline_path(cluster_file: Path) -> Path:
    """Return the path of the baseline that belongs to a cluster file."""
    return cluster_file.with_name(cluster_file.stem + SUFFIX)


def host_baseline(host: RecordedHost) -> HostBaseline:
    """Return the limits, units and firewall of a host, parsed from the texts recorded of it, to compare later."""
    states = (line.split()[:2] for line in host.units.splitlines() if len(line.split()) > 1)
    return HostBaseline(
        limits=_lines_by_file(host.limits),
        units=_lines_by_file(host.cluster_units),
        states={name: state for name, state in states if name.removesuffix(".service") in UNIT_ROLES},
        firewall=_lines_by_file(host.firewall_files),
        rules=firewall_rules(host),
    )


def _lines_by_file(text: str) -> FileLines:
    files: FileLines = {}
    for file, number, content in file_lines(text):
        if not _OUR_FILE.search(file):
            line = " ".join(_SECRET.sub(r"\1=...", content).split())
            files.setdefault(file, []).append((number, line))
    return files


def format_baseline(baseline: Baseline) -> str:
    """Return the text of the baseline file, in which hosts with equal settings share one entry."""
    groups: dict[str, tuple[dict[str, object], list[str]]] = {}
    for name, settings in baseline.items():
        fields = asdict(settings)
        groups.setdefault(json.dumps(fields), (fields, []))[1].append(name)
    document = {fold(hosts): fields for fields, hosts in groups.values()}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def site_baseline(hosts: Mapping[str, RecordedHost]) -> Baseline:
    """Return the baseline of hosts, by their names without a domain."""
    return {name.partition(".")[0].lower(): host_baseline(host) for name, host in hosts.items()}


def parse_baseline(text: str) -> Baseline:
    """Return the baseline in the text of its file.

    Raises:
        ValueError: it is no baseline.
    """
    try:
        document = _HOSTS.validate_json(text)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"]) from error
    return {name: settings for hosts, settings in document.items() for name in expand(hosts)}


def baseline_differences(cluster: Cluster, old: HostBaseline, new: HostBaseline) -> Iterator[Difference]:
    """Yield what a host has changed in limits, units and firewall since its baseline (`old`).

    Only of roles that the cluster file does not manage.
    """
    if not cluster.manages("limits"):
        yield from _file_differences("limits", old.limits, new.limits)
    watched = {unit for unit, role in UNIT_ROLES.items() if not cluster.manages(role)}
    yield from _file_differences("units", _of_units(old.units, watched), _of_units(new.units, watched))
    for unit in sorted(watched):
        name = f"{unit}.service"
        if old.states.get(name) != new.states.get(name):
            yield Difference("units", name, old.states.get(name, ""), new.states.get(name, ""))
    if not _is_firewall_managed(cluster) and old.rules is not None and new.rules is not None:
        yield from _file_differences("firewall", old.firewall, new.firewall)
        for name in sorted(old.rules.keys() | new.rules.keys()):
            for ours, theirs in _changes(old.rules.get(name, []), new.rules.get(name, [])):
                yield Difference("firewall", name, ours, theirs)


def has_unread_rules(cluster: Cluster, old: HostBaseline, new: HostBaseline) -> bool:
    """Return whether the rules of a firewall are in the baseline, but could not be read now."""
    return not _is_firewall_managed(cluster) and old.rules is not None and new.rules is None


def _is_firewall_managed(cluster: Cluster) -> bool:
    return any(map(cluster.manages, FIREWALL_ROLES))


def is_baseline_watched(cluster: Cluster) -> bool:
    """Return whether a role of the settings is not managed."""
    roles = {"limits", *UNIT_ROLES.values(), *FIREWALL_ROLES}
    return cluster.slurm.is_of_site and not all(map(cluster.manages, roles))


def _of_units(files: FileLines, units: set[str]) -> FileLines:
    return {
        path: lines for path, lines in files.items() if (match := _UNIT.search(path)) and match[1] in units
    }


def _file_differences(subject: str, old: FileLines, new: FileLines) -> Iterator[Difference]:
    """Yield each changed line with its file and number: that of the new file, or of the old one if it is removed."""
    for path in sorted(old.keys() | new.keys()):
        ours, theirs = old.get(path, []), new.get(path, [])
        numbers = _positions([text for _line, text in ours], [text for _line, text in theirs])
        for before, after in numbers:
            line = theirs[after][0] if after is not None else ours[before or 0][0]
            texts = (
                ours[before][1] if before is not None else "",
                theirs[after][1] if after is not None else "",
            )
            yield Difference(subject, f"{path}:{line}", *texts)


def _changes(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for before, after in _positions(old, new):
        yield "" if before is None else old[before], "" if after is None else new[after]


def _positions(old: list[str], new: list[str]) -> Iterator[tuple[int | None, int | None]]:
    """Yield the pair of indexes of each line that differs between two lists: None in a list that lacks the line.

    A replaced line has both.
    """
    for tag, *spans in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from zip_longest(range(*spans[:2]), range(*spans[2:]))
