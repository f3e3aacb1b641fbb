"""Read BIOS settings of hosts, and change them: plan, write for the next boot, reboot, verify."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.config.power_saving import Redfish
from clusterwright.edge.bundler import BIOS
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote, fan_out
from clusterwright.errors import EXIT_USAGE, Finding, WrightError, unknown_name_fix
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, parse_document
from clusterwright.onhost.provision.reboots import BOOT_ID
from clusterwright.provision.drain import Drains, ProgressCallback
from clusterwright.provision.reboot import BOOT_S, Reboots
from clusterwright.provision.render.power import power_settings

_QUERY_S = 300  # thirty-two BMCs at once, each with 15 s for an answer and a registry of megabytes
_TRUE, _FALSE = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})

Value = str | int | bool
Tables = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class BiosChange:
    """A setting of one host: the value now, and the one after the next boot."""

    host: str
    name: str
    old: Any
    new: Value
    is_pending: bool  # the new value waits for a boot already


@dataclass(frozen=True, slots=True)
class BiosHosts:
    """BIOS settings of hosts by the Redfish of their BMCs, which the control host reaches."""

    cluster: Cluster
    remote: Remote

    def exchange(self, hosts: Sequence[str], values: Mapping[str, Value], *, is_staged: bool) -> Tables:
        """Read the BIOS settings of hosts or, with `is_staged`, write `values` for the next boot.

        Return by host its table of settings, or a table with only `error` where the BMC failed.

        Raises:
            WrightError: `bios-no-redfish`, or the control host has not answered.
        """
        saving = self.cluster.slurm.power_saving
        if saving is None or not isinstance(saving.provider, Redfish) or self.cluster.lab:
            raise WrightError.from_code(
                "bios-no-redfish",
                _("the cluster file has no BMCs with Redfish, so BIOS settings cannot be read or written"),
                _("set slurm.power_saving.provider with `kind: redfish` and the addresses in `bmc`"),
                exit_code=EXIT_USAGE,
            )
        settings = parse_document(power_settings(self.cluster, saving))
        bmcs = {host: table for host, table in settings["hosts"].items() if table and host in hosts}
        if unknown := [host for host in hosts if host not in bmcs]:
            raise WrightError.from_code(
                "bios-no-redfish",
                _("{hosts}: no BMC has an address in the cluster file", hosts=fold(unknown)),
                _("add the group to slurm.power_saving.provider.bmc; groups of `exclude` have none"),
                exit_code=EXIT_USAGE,
            )
        order = {"provider": settings["provider"], "hosts": bmcs, "attributes": values, "stage": is_staged}
        control = Host(self.remote, self.cluster.control.name)
        result = control.run_program(BIOS, stdin=json.dumps(order).encode(), root=True, timeout_s=_QUERY_S)
        try:
            tables: Tables = parse_document(result.out)
        except DATA_ERRORS:
            raise WrightError.from_code(
                "unreachable",
                _("{host} did not read the BMCs: {error}", host=control.name, error=result.last_lines(2)),
                _("check `ssh {host}` as root", host=control.name),
            ) from None
        return tables


def plan_changes(tables: Tables, values: Mapping[str, str]) -> tuple[BiosChange, ...]:
    """Return the changes that make the values true on every host; settings that have the value already give none.

    Raises:
        WrightError: `bios-setting`: all settings that a BIOS does not have or that do not take the value, and BMCs
            that do not answer.
    """
    findings: list[Finding] = []
    changes: list[BiosChange] = []
    for host, table in sorted(tables.items()):
        if "error" in table:
            findings.append(Finding("bios-setting", f"{host}: {table['error']}", _("nothing was written")))
            continue
        for name, text in values.items():
            try:
                value = _value(host, table, name, text)
            except DATA_ERRORS:
                value = Finding(
                    "bios-setting",
                    _("the BMC of {host} describes {name} by invalid values", host=host, name=name),
                    _("nothing was written"),
                )
            if isinstance(value, Finding):
                findings.append(value)
            elif table["attributes"][name] != value:
                is_pending = table["pending"].get(name) == value
                changes.append(BiosChange(host, name, table["attributes"][name], value, is_pending))
    if findings:
        raise WrightError(*dict.fromkeys(findings), exit_code=EXIT_USAGE)
    return tuple(changes)


def _value(host: str, table: Mapping[str, Any], name: str, text: str) -> Value | Finding:
    """Return the text as a value in the type of the BIOS attribute, or a Finding with the reason that it cannot be set.

    The attribute does not exist, is read-only or does not take this value. `table` is what Redfish reports of the host.
    """
    if name not in table["attributes"]:
        fix = unknown_name_fix(
            name, table["attributes"], _("list the settings of the BIOS: wright bios show {host}", host=host)
        )
        message = _("the BIOS of {host} has no setting {name}", host=host, name=name)
        return Finding("bios-setting", message, fix)
    entry, old = table["entries"].get(name, {}), table["attributes"][name]
    if entry.get("ReadOnly") or entry.get("Immutable"):
        message = _("{name} of {host} is read-only", name=name, host=host)
        return Finding("bios-setting", message, _("remove the setting"))
    kind = entry.get("Type") or {bool: "Boolean", int: "Integer"}.get(type(old), "String")
    value = _typed(kind, text)
    if reason := "" if value is not None and not entry else _refusal(entry, kind, value):
        message = _("{name} of {host} does not take {value}", name=name, host=host, value=text)
        return Finding("bios-setting", message, reason)
    return text if value is None else value


def _typed(kind: str, text: str) -> Value | None:
    if kind == "Integer":
        return int(text) if text.lstrip("-").isascii() and text.lstrip("-").isdigit() else None
    if kind == "Boolean":
        return True if text.lower() in _TRUE else False if text.lower() in _FALSE else None
    return text


def _refusal(entry: Mapping[str, Any], kind: str, value: Value | None) -> str:
    """Return a sentence on what the attribute accepts if it does not accept the value, else an empty text."""
    if kind == "Boolean" and value is None:
        return _("choose one of {choices}", choices="true, false")
    if kind == "Integer":
        low, high = entry.get("LowerBound"), entry.get("UpperBound")
        step = entry.get("ScalarIncrement") or 1
        is_inside = (
            isinstance(value, int) and (low is None or value >= low) and (high is None or value <= high)
        )
        if is_inside and isinstance(value, int) and (value - (low or 0)) % step == 0:
            return ""
        return _("write a number from {least} to {most}, in steps of {step}", least=low, most=high, step=step)
    choices = [
        str(choice.get("ValueName")) for choice in entry.get("Value") or () if isinstance(choice, dict)
    ]
    if kind == "Enumeration" and choices and value not in choices:
        return _("choose one of {choices}", choices=", ".join(choices))
    longest = entry.get("MaxLength")
    if kind == "String" and longest is not None and len(str(value)) > longest:
        return _("write at most {count} characters", count=longest)
    return ""


@dataclass(frozen=True, slots=True)
class BiosApply:
    """One change of BIOS settings: hosts without jobs are drained, written, rebooted, verified and resumed."""

    bios: BiosHosts
    clock: Clock
    on_progress: ProgressCallback
    when: str
    boot_s: float = BOOT_S

    def run(self, changes: Sequence[BiosChange]) -> dict[str, str]:
        """Drain the hosts, write the BIOS settings, reboot, verify and resume; return the error by host that failed.

        A host with jobs is left as it is; one that failed after its reboot stays drained.
        """
        hosts = tuple(dict.fromkeys(change.host for change in changes))
        drains = Drains(self.bios.cluster, self.bios.remote, self.clock, 0.0, self.on_progress, self.when)
        troubles = self._busy(drains, hosts)
        free = [host for host in hosts if host not in troubles]
        troubles |= drains.drain(free) if free else {}
        free = [host for host in free if host not in troubles]
        if late := self._busy(drains, free):  # a job that started before the drain
            troubles |= late
            drains.resume(late)
        ready = [host for host in free if host not in troubles]
        troubles |= self._write(ready, changes)
        drains.resume(host for host in ready if host in troubles)
        written = [host for host in ready if host not in troubles]
        troubles |= self._reboot(written)
        troubles |= self._verify([host for host in written if host not in troubles], changes)
        drains.resume(host for host in written if host not in troubles)
        return troubles

    def _busy(self, drains: Drains, hosts: Sequence[str]) -> dict[str, str]:
        busy = drains.busy() if hosts else {}
        if busy is None:
            return dict.fromkeys(hosts, _("slurmctld does not respond"))
        return {
            host: _("jobs {jobs} run on the host: nothing was written", jobs=", ".join(busy[host]))
            for host in hosts
            if host in busy
        }

    def _write(self, hosts: Sequence[str], changes: Sequence[BiosChange]) -> dict[str, str]:
        """Write the BIOS settings for the next boot, in one run for all hosts with equal settings.

        Return the error by host of the hosts that failed; empty if all succeeded.
        """
        groups: dict[tuple[tuple[str, Value], ...], list[str]] = {}
        for host in hosts:
            values = tuple((change.name, change.new) for change in changes if change.host == host)
            groups.setdefault(values, []).append(host)
        troubles = {}
        for values, members in groups.items():
            tables = self.bios.exchange(members, dict(values), is_staged=True)
            troubles.update({host: table["error"] for host, table in tables.items() if "error" in table})
        if written := [host for host in hosts if host not in troubles]:
            self.on_progress(_("{hosts}: BIOS settings written for the next boot", hosts=fold(written)))
        return troubles

    def _reboot(self, hosts: Sequence[str]) -> dict[str, str]:
        remote = self.bios.remote
        results = fan_out(hosts, lambda host: Host(remote, host).run(f"cat {BOOT_ID}", timeout_s=30))
        boots = {host: result.out.strip() for host, result in results.items() if result.ok}
        unreachable = [host for host in hosts if host not in boots]
        troubles = dict.fromkeys(
            unreachable,
            _("the host does not respond: reboot the host, which then applies the pending settings"),
        )
        reboots = Reboots(
            self.bios.cluster, remote, self.clock, self.on_progress, self.when, boot_s=self.boot_s
        )
        return troubles | reboots.make(boots)

    def _verify(self, hosts: Sequence[str], changes: Sequence[BiosChange]) -> dict[str, str]:
        """Return the hosts whose BIOS has other values after the boot, or whose BMC does not answer, and why."""
        tables = self.bios.exchange(hosts, {}, is_staged=False) if hosts else {}
        return {host: text for host, table in tables.items() if (text := _difference(host, table, changes))}


def _difference(host: str, table: Mapping[str, Any], changes: Sequence[BiosChange]) -> str:
    if "error" in table:
        return str(table["error"])
    return "; ".join(_differences(host, table["attributes"], changes))


def _differences(host: str, actual: Mapping[str, Any], changes: Sequence[BiosChange]) -> Iterator[str]:
    for change in changes:
        if change.host == host and actual.get(change.name) != change.new:
            yield _(
                "{name} is {actual} after the boot, not {value}: the log of the BMC has the reason",
                name=change.name,
                actual=actual.get(change.name),
                value=change.new,
            )
