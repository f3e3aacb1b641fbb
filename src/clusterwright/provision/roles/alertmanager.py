"""Alertmanager on the control host's loopback: receivers, routes and inhibitions."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.receivers import Zabbix
from clusterwright.onhost.notify.settings import AUTHORIZATION
from clusterwright.provision.render.monitoring.alertmanager import (
    ALERTMANAGER_PORT,
    SECRETS,
    alertmanager_conf,
)
from clusterwright.provision.resources import Directory, File, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("prometheus",)

NOTIFY_AUTHORIZATION = "notify.token"  # name of the secret that only Alertmanager and our notifier know
OWNER = "prometheus"  # account of both Alertmanager and Prometheus in Debian's and Ubuntu's packages
DROP_IN = """[Service]
Restart=always
RestartSec=5

[Unit]
StartLimitIntervalSec=0
"""


def secret_files(cluster: Cluster) -> dict[str, tuple[str, bool]]:
    """Return, by name of each receiver in use, its local secret file and whether that holds a URL."""
    receivers = {name: cluster.monitoring.receivers[name] for name in cluster.monitoring.notify}
    return {
        name: (str(receiver.secret_file), receiver.kind not in ("email", "webhook"))
        for name, receiver in receivers.items()
        if not isinstance(receiver, Zabbix) and receiver.secret_file is not None
    }


def alertmanager(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return Alertmanager, on loopback and without clustering; each secret is in a file of its own."""
    if not cluster.monitoring.prometheus or host.name != cluster.control.name:
        return ()
    header = context.header()
    arguments = f"--web.listen-address=127.0.0.1:{ALERTMANAGER_PORT} --cluster.listen-address="
    if cluster.monitoring.external_url:
        arguments += f" --web.external-url={cluster.monitoring.external_url} --web.route-prefix=/"
    settings = File(path="/etc/default/prometheus-alertmanager", content=f'{header}ARGS="{arguments}"\n')
    conf = File(
        path="/etc/prometheus/alertmanager.yml", content=header + alertmanager_conf(cluster),
        gentle=".*", validate=("amtool", "check-config", "{}"),
    )  # fmt: skip
    drop_in = File(
        path="/etc/systemd/system/prometheus-alertmanager.service.d/clusterwright.conf",
        content=header + DROP_IN,
    )
    names = {AUTHORIZATION: NOTIFY_AUTHORIZATION} | {
        name: f"receivers/{name}" for name in secret_files(cluster)
    }
    secrets = tuple(
        File(
            path=f"{SECRETS}/{name}",
            content=context.secrets.get(secret, b""),
            owner=OWNER,
            group=OWNER,
            mode=0o400,
            secret=secret,
        )
        for name, secret in names.items()
    )
    read = (conf.id, settings.id, drop_in.id, *(file.id for file in secrets))
    return (
        Package(name="prometheus-alertmanager"),
        Directory(path=SECRETS, owner=OWNER, group=OWNER, mode=0o700),
        *secrets,
        conf,
        settings,
        drop_in,
        Unit(name="prometheus-alertmanager.service", independent=True, restart_on=read),
    )
