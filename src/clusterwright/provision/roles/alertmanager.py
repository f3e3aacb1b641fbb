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
from clusterwright.provision.render.monitoring.alertmanager_access import alertmanager_access
from clusterwright.provision.resources import Directory, File, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("prometheus", "accounts")

NOTIFY_AUTHORIZATION = "notify.token"  # the secret's name: what only Alertmanager and our receiver know
OWNER = "prometheus"  # Debian's and Ubuntu's packages run both under it
RULES = "/etc/clusterwright/alertmanager.nft"
DROP_IN = f"""[Service]
# Who may connect, before Alertmanager listens; again with each reload.
ExecStartPre=+/usr/sbin/nft -f {RULES}
ExecReload=+/usr/sbin/nft -f {RULES}
Restart=always
RestartSec=5

[Unit]
StartLimitIntervalSec=0
ReloadPropagatedFrom=nftables.service
"""


def secret_files(cluster: Cluster) -> dict[str, tuple[str, bool]]:
    """Return, by name of each receiver in `notify` with a secret, its local secret file and whether that holds a URL.

    Zabbix has none.
    """
    receivers = {name: cluster.monitoring.receivers[name] for name in cluster.monitoring.notify}
    return {
        name: (str(receiver.secret_file), receiver.kind not in ("email", "webhook"))
        for name, receiver in receivers.items()
        if not isinstance(receiver, Zabbix) and receiver.secret_file is not None
    }


def alertmanager(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return Alertmanager for the first control host with `monitoring.prometheus`, else nothing.

    It is on loopback, for system accounts and operators only, without clustering; each secret is in a file of its own.
    """
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
    rules = File(path=RULES, content=alertmanager_access(cluster, header), validate=("nft", "-c", "-f", "{}"))
    read = (conf.id, settings.id, drop_in.id, rules.id, *(file.id for file in secrets))
    return (
        Package(name="nftables"),
        Package(name="prometheus-alertmanager"),
        Directory(path="/etc/clusterwright"),
        rules,
        Directory(path=SECRETS, owner=OWNER, group=OWNER, mode=0o700),
        *secrets,
        conf,
        settings,
        drop_in,
        Unit(name="prometheus-alertmanager.service", independent=True, restart_on=read),
    )
