"""`wright bios show|apply`."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from clusterwright.cli._live_names import HOSTS
from clusterwright.cli._quantities import Hostlist
from clusterwright.i18n import _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.provision.bios import BiosApply, BiosChange, BiosHosts

bios = App(
    name="bios",
    help="Read and change BIOS settings of hosts through their BMCs.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@bios.command
def show(
    hosts: Annotated[Hostlist, HOSTS],
    /,
    *,
    find: str = "",
    json: bool = False,
    cluster: Path | None = None,
) -> int:
    """Show the BIOS settings of hosts, and those that wait for a boot. Exit code 1: a BMC has not answered.

    Parameters
    ----------
    hosts
        Hostlist, such as gpu-node[1-4].
    find
        Show only settings whose name contains this text.
    json
        Print one JSON document on stdout.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    """
    from clusterwright.cli._show import show_error, show_json, show_table
    from clusterwright.config.names import expand
    from clusterwright.errors import EXIT_FAILED, EXIT_OK

    tables = _connect(cluster).exchange(expand(hosts), {}, is_staged=False)
    if json:
        show_json(tables)
    else:
        show_table(
            ("host", "setting", "value", "after the next boot"),
            [
                (host, name, str(value), str(table["pending"].get(name, "")))
                for host, table in tables.items()
                for name, value in sorted(table.get("attributes", {}).items())
                if find.lower() in name.lower()
            ],
        )
    for host, table in tables.items():
        if "error" in table:
            show_error(f"{host}: {table['error']}")
    return EXIT_FAILED if any("error" in table for table in tables.values()) else EXIT_OK


@bios.command
def apply(
    hosts: Annotated[Hostlist, HOSTS],
    /,
    *values: str,
    dry_run: bool = False,
    yes: bool = False,
    cluster: Path | None = None,
) -> int:
    """Change BIOS settings: show the plan, drain hosts without jobs, write, reboot, verify, resume.

    A setting that the BIOS does not have, a value that it does not take, or a BMC that does not answer refuses the
    whole plan. Hosts with jobs are left as they are. Exit code 1: a host was left, or differs after its boot.

    Parameters
    ----------
    hosts
        Hostlist, such as gpu-node[1-4].
    values
        NAME=VALUE, as `wright bios show` prints them.
    dry_run
        Show the plan only.
    yes
        Do not ask for confirmation.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    """
    from clusterwright.cli._show import is_confirmed, show_message
    from clusterwright.config.names import expand
    from clusterwright.edge.clock import SystemClock
    from clusterwright.errors import EXIT_FAILED
    from clusterwright.provision.bios import BiosApply, plan_changes

    requested = _pairs(hosts, values)
    client = _connect(cluster)
    changes = plan_changes(client.exchange(expand(hosts), requested, is_staged=False), requested)
    _show_plan(changes)
    if not changes or dry_run:
        return 0
    if not yes and not is_confirmed(_("Change these settings and reboot the hosts?")):
        return EXIT_FAILED
    when = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return _make(BiosApply(client, SystemClock(), show_message, when), changes)


def _make(work: BiosApply, changes: Sequence[BiosChange]) -> int:
    from clusterwright.cli._show import show_error
    from clusterwright.errors import EXIT_FAILED, EXIT_OK

    troubles = work.run(changes)
    for host, reason in troubles.items():
        show_error(f"{host}: {reason}")
    return EXIT_FAILED if troubles else EXIT_OK


def _pairs(hosts: str, values: Sequence[str]) -> dict[str, str]:
    from clusterwright.errors import EXIT_USAGE, WrightError

    malformed = [value for value in values if "=" not in value]
    if malformed or not values:
        raise WrightError.from_code(
            "missing-key",
            _("not a setting of the form NAME=VALUE: {words}", words=", ".join(malformed))
            if malformed
            else _("no setting is given; a setting is NAME=VALUE"),
            _("write {line}", line=_apply_line(hosts, values)),
            exit_code=EXIT_USAGE,
        )
    return dict(value.split("=", 1) for value in values)


def _apply_line(hosts: str, values: Sequence[str]) -> str:
    """Return the line with the hosts as typed, and with `NAME VALUE` as a setting."""
    remaining, settings = list(values), []
    while remaining:
        text = remaining.pop(0)
        settings.append(
            text if "=" in text or not remaining or "=" in remaining[0] else f"{text}={remaining.pop(0)}"
        )
    settings = [setting if "=" in setting else f"{setting}=VALUE" for setting in settings]
    return shlex.join(("wright", "bios", "apply", hosts, *(settings or ["SriovGlobalEnable=Enabled"])))


def _show_plan(changes: Sequence[BiosChange]) -> None:
    from clusterwright.cli._show import show_message, show_table

    if not changes:
        show_message(_("The settings have these values already."))
        return
    show_table(
        ("host", "setting", "value", "after the next boot"),
        [(change.host, change.name, str(change.old), str(change.new)) for change in changes],
    )
    show_message(_("Each host is drained, rebooted and resumed; hosts with jobs are left as they are."))


def _connect(cluster: Path | None) -> BiosHosts:
    from clusterwright.cli._connection import connection_to, managed_cluster
    from clusterwright.provision.bios import BiosHosts

    spec = managed_cluster(cluster)
    return BiosHosts(spec, connection_to(spec))
