"""Apply a cluster file: one SSH round trip per host to check it, one more where changes are due."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from functools import cache
from pathlib import Path

from clusterwright.config.cluster import Cluster, Unmanaged
from clusterwright.config.names import fold
from clusterwright.edge.bundler import library
from clusterwright.edge.certificates import certificates
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.heal_files import heal_files
from clusterwright.edge.host import needs_sudo
from clusterwright.edge.receivers import receiver_secrets
from clusterwright.edge.secrets import (
    first_password,
    new_munge_key,
    state_folder,
    stored_munge_key,
    write_munge_key,
)
from clusterwright.edge.ssh import Connection, LocalMachine, Remote, Ssh
from clusterwright.edge.user_keys import user_keys
from clusterwright.i18n import _
from clusterwright.provision.carry import Agree, DisruptionPolicy, carry_out
from clusterwright.provision.package_bundle.archive import Bundle, open_bundle
from clusterwright.provision.package_bundle.requirements import required_packages
from clusterwright.provision.powered_down import PoweredDownHosts
from clusterwright.provision.recover import refuse_new_key
from clusterwright.provision.report import ChangeReport
from clusterwright.provision.resources import Resource, RoleContext
from clusterwright.provision.roles import declared_resources
from clusterwright.provision.roles.alertmanager import NOTIFY_AUTHORIZATION, secret_files
from clusterwright.provision.roles.certificates import subjects
from clusterwright.provision.roles.munge import KEY
from clusterwright.provision.work import HostWork, stamp


def remote_of(cluster: Cluster) -> Connection:
    """Return how the cluster's hosts are reached: SSH with user, port and ssh_config of the cluster file, and sudo.

    A lab uses only its own ssh_config. Of an unmanaged cluster only the host with its Slurm commands is reached
    (`login_of`).
    """
    if cluster.unmanaged:
        return login_of(cluster.unmanaged)
    config = Path(cluster.ssh_config) if cluster.ssh_config else None
    if cluster.lab is not None:
        return Ssh(config=config)
    sudo = needs_sudo(cluster.ssh.user, lab=False)
    return Ssh(user=cluster.ssh.user, port=cluster.ssh.port, config=config, sudo=sudo)


def login_of(unmanaged: Unmanaged) -> Connection:
    """Return SSH to the login host of an unmanaged cluster, or this machine if the file names no login host."""
    return Ssh(user=unmanaged.user) if unmanaged.login else LocalMachine()


def build_context(cluster: Cluster, source: str) -> RoleContext:
    """Return what roles need beyond the cluster file: secrets (created on first use) and the library for hosts.

    They are stored on this machine. A munge key that this machine does not have is new and not stored; `apply` stores
    it before any host gets it.
    """
    folder = state_folder(cluster.name)
    secrets = {
        KEY: stored_munge_key(folder) or new_munge_key(),
        **user_keys(folder, cluster.unix_users() if cluster.manages("ssh") else ()),
    }
    if named := subjects(cluster):
        secrets |= certificates(folder, named, SystemClock())
    if cluster.monitoring.prometheus:
        secrets |= receiver_secrets(secret_files(cluster))
        secrets[NOTIFY_AUTHORIZATION] = first_password(folder, NOTIFY_AUTHORIZATION)
    if cluster.monitoring.grafana:
        secrets["grafana.password"] = first_password(folder, "grafana.password")
    if cluster.heal.watch:
        secrets |= heal_files(folder, Path(source))
    return RoleContext(secrets, library())


def apply(
    cluster: Cluster,
    source: str,
    remote: Remote,
    *,
    only: Container[str] | None = None,
    dry_run: bool = False,
    agree: Agree = lambda _report: True,
    clock: Clock | None = None,
    policy: DisruptionPolicy | None = None,
) -> ChangeReport:
    """Make the changes that `agree` accepts (with `dry_run` none) on permanent hosts or those in `only`; report all.

    Raises:
        WrightError: hosts have a munge key that this machine has lost, or the package bundle cannot be used.
    """
    clock, policy = clock or SystemClock(), policy or DisruptionPolicy()
    folder = state_folder(cluster.name)
    refuse_new_key(cluster, source, folder, remote)
    context = build_context(cluster, source)
    declared = cache(lambda host: declared_resources(cluster, cluster.host(host), context))
    resources = cache(lambda host: tuple(resource for resource, _role in declared(host).values()))
    work = HostWork(
        cluster,
        Path(source).name,
        remote,
        clock,
        stamp(clock),
        resources=resources,
        shared=tuple(context.payload.values()),
        package_bundle=_package_bundle(cluster, resources),
        on_event=policy.on_event,
        role_of=lambda host, id_: declared(host)[id_][1] if id_ in declared(host) else "",
    )

    def agreed(report: ChangeReport) -> bool:
        agrees = agree(report)
        if agrees and cluster.manages("munge"):
            write_munge_key(folder, context.secrets[KEY])
        return agrees

    hosts = [host for host in cluster.permanent_hosts() if only is None or host in only]
    powered_down = PoweredDownHosts.load(work)
    active_hosts = [host for host in hosts if host not in powered_down.hosts]
    powered_down, report = powered_down.recheck(
        carry_out(work, active_hosts, policy=policy, dry_run=dry_run, agree=agreed)
    )
    if not dry_run:
        powered_down.store(report)
    return _with_note(replace(report, hosts=report.hosts + powered_down.reports(hosts)), cluster, only)


def _with_note(report: ChangeReport, cluster: Cluster, only: Container[str] | None) -> ChangeReport:
    """Return the report with a note on its first host that names the hosts not contacted, as Slurm creates them.

    Unchanged if `only` has no such host, or if the report has no host.
    """
    transient = [host for host in sorted(cluster.transient_hosts()) if only is None or host in only]
    if not transient or not report.hosts:
        return report
    note = _(
        "{hosts}: not contacted, because the State of these nodes in slurm.conf is CLOUD, FUTURE or EXTERNAL",
        hosts=fold(transient),
    )
    first, *rest = report.hosts
    return replace(report, hosts=(replace(first, notes=(*first.notes, note)), *rest))


def _package_bundle(cluster: Cluster, resources: Callable[[str], tuple[Resource, ...]]) -> Bundle | None:
    """Return the bundle of the cluster file, checked to have all packages that any host requires; None without one."""
    if cluster.software.bundle is None:
        return None
    lists = required_packages(resources(host.name) for host in cluster.hosts())
    return open_bundle(cluster, [package for packages in lists for package in packages])
