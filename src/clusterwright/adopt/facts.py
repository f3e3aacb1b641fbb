"""Facts of a site from what was recorded: addresses, distribution, hardware, driver, and shared folders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address
from typing import Any

from clusterwright.adopt.accounts import UnixIds
from clusterwright.adopt.express import ObservedHardware, SiteFacts, parse_address
from clusterwright.adopt.folders import shared_folders
from clusterwright.adopt.host_texts import is_id
from clusterwright.adopt.recorded import RecordedHost, RecordedSite
from clusterwright.catalog.gpus import matching_name
from clusterwright.check.facts.memory import memory
from clusterwright.check.facts.os_release import os_release
from clusterwright.platforms import platform_names
from clusterwright.units import MiB, format_size

_LSCPU = {
    "sockets": "Socket(s)",
    "cores_per_socket": "Core(s) per socket",
    "threads_per_core": "Thread(s) per core",
}
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){1,3}")


def facts_of(site: RecordedSite) -> SiteFacts:
    """Return what the recorded texts of a site say beyond Slurm's files; a text that cannot be parsed is not known."""
    addresses: dict[str, IPv4Address] = {}
    for line in site.addresses.splitlines():
        name, _space, text = line.partition(" ")
        address = parse_address(text.strip())
        if address is not None and not address.is_loopback:
            addresses[name.partition(".")[0]] = address
    systems = {name: system for name, host in site.hosts.items() if (system := _os(host.os_release))}
    drivers = {row[2] for host in site.hosts.values() for row in _gpus(host)}
    return SiteFacts(
        addresses,
        os=Counter(systems.values()).most_common(1)[0][0] if systems else "",
        systems=systems,
        driver=drivers.pop() if len(drivers) == 1 else "",
        hardware={name: description for name, host in site.hosts.items() if (description := _hardware(host))},
        shared=shared_folders(site.hosts),
        hosts=site.hosts,
        tables=site.tables,
        ids=_ids(site.hosts.values()),
    )


def _os(text: str) -> str:
    try:
        name = os_release.parse(text)
    except (KeyError, ValueError):
        return ""
    return name if name in platform_names() else ""


def _hardware(host: RecordedHost) -> ObservedHardware | None:
    try:
        total = memory.parse(host.meminfo).total_bytes
    except (KeyError, ValueError):
        return None
    values = {
        key.strip(): value.strip()
        for key, _, value in (row.partition(":") for row in host.lscpu.splitlines())
    }
    cpus = {name: int(values[key]) for name, key in _LSCPU.items() if values.get(key, "").isdigit()}
    name, mib, _driver = next(_gpus(host), ("", "", ""))
    size = format_size(int(mib) * MiB) if mib.isdigit() and int(mib) else ""
    return ObservedHardware(cpus, format_size(-(-total // MiB) * MiB), size, matching_name(name) or "")


def _gpus(host: RecordedHost) -> Iterator[list[str]]:
    """Yield name, memory (MiB) and driver version of each GPU of a host."""
    for line in host.gpus.splitlines():
        row = [item.strip() for item in line.split(",")]
        if len(row) == len(("name", "memory", "driver")) and _VERSION.fullmatch(row[2]):
            yield row


def _ids(hosts: Iterable[RecordedHost]) -> UnixIds:
    """Return the uids and gids of users and groups that are the same on all hosts, by name.

    Hosts whose passwd or group was not read are not compared; no ids if that is all hosts.
    """
    examined = [host for host in hosts if host.passwd and host.group]
    if not examined:
        return UnixIds()
    users = set.intersection(*(_accounts(host.passwd, ids=2) for host in examined))
    groups = set.intersection(*(_accounts(host.group, ids=1) for host in examined))
    return UnixIds({name: (uid, gid) for name, uid, gid in users}, dict(groups))


def _accounts(text: str, ids: int) -> set[tuple[Any, ...]]:
    """Return names with `ids` numbers of the lines of passwd(5), which has two, or of group(5), which has one.

    Lines without valid numbers are left out.
    """
    rows = (line.split(":") for line in text.splitlines())
    numbers = ((row[0], row[2 : 2 + ids]) for row in rows if len(row) > 3)
    return {(name, *map(int, texts)) for name, texts in numbers if all(map(is_id, texts))}
