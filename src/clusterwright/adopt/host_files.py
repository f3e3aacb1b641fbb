"""Settings in files of hosts: kernel settings, mounts and held packages as fields; all other lines are listed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from clusterwright.adopt.firewalls import active_zones, firewall_rules
from clusterwright.adopt.folders import SharedFolder, exported_path, is_exported, unheld_mounts
from clusterwright.adopt.host_texts import Line, file_lines, is_id
from clusterwright.adopt.lines import LeftOut, is_valid
from clusterwright.adopt.recorded import RecordedHost
from clusterwright.config.cluster import SysctlName, SysctlValue
from clusterwright.config.names import PackageName, fold
from clusterwright.config.people import FIRST_ID, LAST_ID
from clusterwright.i18n import _

_BLOCK = re.compile(r"\}|flush |type |:|COMMIT|\*|(table|chain) .*\{$")  # of nft and iptables: no rule
_SETTING = re.compile(r"-?\s*([^\s=]+)\s*=\s*(.*)")
_SYSCTL: TypeAdapter[dict[str, str]] = TypeAdapter(dict[SysctlName, SysctlValue])
_PACKAGE: TypeAdapter[str] = TypeAdapter(PackageName)


@dataclass(frozen=True, slots=True)
class HostSettings:
    """What fields hold of the files of hosts, and the lines that none holds."""

    sysctl: Mapping[str, str] = field(default_factory=dict)
    held_packages: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def host_settings(
    hosts: Mapping[str, RecordedHost],
    compute: frozenset[str],
    users: frozenset[str],
    folders: tuple[SharedFolder, ...],
) -> HostSettings:
    """Return the sysctl settings that all compute hosts share, the packages that all hosts hold, and all other lines.

    The other lines are those of host files that no field of the cluster file holds, each with a reason. `users` and
    `folders` are those of the cluster file.
    """
    sysctl = _common_sysctl([host for name, host in hosts.items() if name in compute])
    held = _common_packages(hosts.values())
    rows: dict[tuple[Line, str], list[str]] = {}
    for name, host in hosts.items():
        lines = [
            *_kernel_lines(host, sysctl if name in compute else {}),
            *_file_lines(host, folders),
            *_package_lines(host, held),
            *_units(host),
            *_people(host, users),
        ]
        for line, reason in lines:
            rows.setdefault((line, reason), []).append(name)
    left_out = (
        LeftOut(f"{fold(names)}:{file}", number, text, reason)
        for ((file, number, text), reason), names in rows.items()
    )
    return HostSettings(sysctl, held, tuple(left_out))


def sysctl_of(host: RecordedHost) -> dict[str, str]:
    """Return the kernel settings in the sysctl files of a host by name; of several lines the last counts."""
    pairs = (_SETTING.fullmatch(text) for _file, _number, text in file_lines(host.sysctl))
    return {match[1].replace("/", "."): " ".join(match[2].split()) for match in pairs if match}


def held_packages(host: RecordedHost) -> tuple[str, ...]:
    """Return the packages that apt-mark or dnf's versionlock holds on a host."""
    packages = (line.split()[0] for line in host.holds.splitlines() if line.strip())
    return tuple(package for package in packages if is_valid(_PACKAGE, package))


def _common_sysctl(hosts: list[RecordedHost]) -> dict[str, str]:
    settings = [sysctl_of(host) for host in hosts]
    pairs = set.intersection(*(set(items.items()) for items in settings)) if settings else set()
    return {key: value for key, value in sorted(pairs) if is_valid(_SYSCTL, {key: value})}


def _common_packages(hosts: Iterable[RecordedHost]) -> tuple[str, ...]:
    held = [set(held_packages(host)) for host in hosts]
    return tuple(sorted(set.intersection(*held))) if held else ()


def _kernel_lines(host: RecordedHost, sysctl: Mapping[str, str]) -> Iterator[tuple[Line, str]]:
    effective = sysctl_of(host)
    for line in file_lines(host.sysctl):
        match = _SETTING.fullmatch(line[2])
        key = match[1].replace("/", ".") if match else ""
        if key not in sysctl or sysctl[key] != effective[key]:
            yield line, _("system.sysctl has only what all compute hosts have in common")


def _file_lines(host: RecordedHost, folders: tuple[SharedFolder, ...]) -> Iterator[tuple[Line, str]]:
    reason = _("the cluster file has no field for this unit; the host keeps its state")
    for text in (host.limits, host.pins):
        yield from ((line, reason) for line in file_lines(text))
    for line in file_lines(host.firewall_files):
        if not _BLOCK.match(line[2]) and not line[0].startswith("/etc/firewalld/"):  # whose zones are listed
            yield line, reason
    yield from ((line, reason) for line in _rules(host))
    yield from ((line, reason) for line in unheld_mounts(host, folders))
    for line in file_lines(host.exports):
        if not is_exported(exported_path(line[2]), folders):
            yield line, reason


def _package_lines(host: RecordedHost, held: tuple[str, ...]) -> Iterator[tuple[Line, str]]:
    for number, package in enumerate(held_packages(host), 1):
        if package not in held:
            yield ("holds", number, package), _("system.hold_packages has only what all hosts hold")


def _rules(host: RecordedHost) -> Iterator[Line]:
    """Yield lines about the firewall: the number of rules of each chain, and the settings of each zone of firewalld."""
    counts = {
        name: sum(not rule.startswith(("type ", "policy ")) for rule in rules)
        for name, rules in (firewall_rules(host) or {}).items()
        if name.startswith("chain ")
    }
    texts = [f"{name}: {count} rules" for name, count in counts.items() if count]
    texts += [f"{name}: {'; '.join(lines)}" for name, lines in active_zones(host.firewalld).items()]
    yield from (("firewall", number, text) for number, text in enumerate(texts, 1))


def _units(host: RecordedHost) -> Iterator[tuple[Line, str]]:
    """Yield enabled and masked units that the site wrote, their drop-ins, and failed units, each with a reason."""
    states = dict(line.split()[:2] for line in host.units.splitlines() if len(line.split()) > 1)
    for number, path in enumerate(host.unit_files.splitlines(), 1):
        name = path.rpartition("/")[2]
        state = states.get(name, "")
        if path.startswith("/"):
            text = f"{path} {state}".strip()
            yield (
                ("units", number, text),
                _("the cluster file has no field for units of the site; the host keeps this unit"),
            )
    for number, line in enumerate(host.units.splitlines(), 1):
        if line.split()[1:2] == ["masked"]:
            yield (
                ("units", number, f"{line.split()[0]} masked"),
                _("the cluster file has no field for this unit; the host keeps its state"),
            )
    for number, line in enumerate(host.failed_units.splitlines(), 1):
        if line.split():
            yield ("failed_units", number, f"{line.split()[0]} failed"), _("the unit has failed on this host")


def _people(host: RecordedHost, users: frozenset[str]) -> Iterator[tuple[Line, str]]:
    """Yield a line for each account of a person in /etc/passwd that is not in the cluster file, with a reason."""
    for number, line in enumerate(host.passwd.splitlines(), 1):
        row = line.split(":")
        is_person = len(row) > 3 and is_id(row[2])
        if is_person and row[0] not in users and FIRST_ID <= int(row[2]) <= LAST_ID:
            yield (
                ("/etc/passwd", number, f"{row[0]} uid={row[2]}"),
                _("no user of the cluster file has this account; the host keeps the account"),
            )
