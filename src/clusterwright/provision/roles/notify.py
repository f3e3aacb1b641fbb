"""The program that sends alerts to chat channels and Zabbix, and reports when monitoring itself stops."""

from __future__ import annotations

import json
from typing import Any

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.receivers import CHAT_RECEIVERS, Receiver, Zabbix
from clusterwright.provision.render.monitoring.alertmanager import ALERTMANAGER_PORT, NOTIFY_PORT, SECRETS
from clusterwright.provision.render.monitoring.prometheus import PROMETHEUS_PORT, TLS
from clusterwright.provision.render.monitoring.zabbix import (
    template_alerts,
    template_figures,
    zabbix_template,
)
from clusterwright.provision.resources import File, Resource, RoleContext, Unit
from clusterwright.provision.roles.alertmanager import OWNER
from clusterwright.provision.roles.certificates import GROUP, SCRAPE
from clusterwright.provision.roles.prometheus import PAGES
from clusterwright.provision.roles.training import LIBRARY
from clusterwright.provision.sandbox import sandbox

DEPENDENCIES = ("alertmanager", "training")

UNIT = "clusterwright-notify.service"
SETTINGS = "/etc/clusterwright/notify.json"
TEMPLATE = "/etc/clusterwright/zabbix-template.json"
SOURCES = ("clusterwright/onhost/notify/", "clusterwright/onhost/lib/")
_THREATS = (
    "Reached by: on loopback; only Alertmanager has the token of requests. Reads: alerts, whose labels users can "
    "write. A user who takes it over reads the receivers' addresses and tokens and sends false "
    "messages; it has no other rights on this host."
)
_TEXT = """[Unit]
Description=Alerts to chat rooms and Zabbix, and the watch on monitoring itself (clusterwright)
After=network-online.target prometheus-alertmanager.service
StartLimitIntervalSec=0

[Service]
User={owner}
# The group may read the key with which Zabbix identifies this host; the folder holds what was sent.
SupplementaryGroups={group}
StateDirectory=clusterwright/notify
Environment=PYTHONPATH={library} PYTHONDONTWRITEBYTECODE=1
ExecStart=/usr/bin/python3 -m clusterwright.onhost.notify {settings}
Restart=always
RestartSec=2
MemoryMax=96M
CPUQuota=20%
TasksMax=64
{sandbox}

[Install]
WantedBy=multi-user.target
"""

Json = dict[str, Any]


def notify(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the notification service, on loopback, for the first control host if Prometheus is on, else nothing.

    Receivers' secrets are in files that only it can read.
    """
    if not cluster.monitoring.prometheus or host.name != cluster.control.name:
        return ()
    settings = File(path=SETTINGS, content=_settings(cluster))
    unit = File(path=f"/etc/systemd/system/{UNIT}", content=context.header() + notify_unit())
    code = [f"file:{LIBRARY}/{path}" for path in sorted(context.payload) if path.startswith(SOURCES)]
    secrets = [f"file:{SECRETS}/{name}" for name in _channels(cluster)]
    running = Unit(name=UNIT, restart_on=(settings.id, unit.id, *code, *secrets), independent=True)
    return (settings, unit, *_template(cluster), running)


def notify_unit(library: str = LIBRARY) -> str:
    """Return the text of the notification service's systemd unit; `library` is the folder with our modules."""
    return _TEXT.format(
        owner=OWNER,
        group=GROUP,
        library=library,
        settings=SETTINGS,
        sandbox=sandbox(_THREATS, RestrictAddressFamilies="AF_UNIX AF_INET AF_INET6"),
    )


def _template(cluster: Cluster) -> tuple[Resource, ...]:
    """Return the file of the Zabbix template, which an administrator imports; nothing without Zabbix."""
    if not _sites(cluster):
        return ()
    text = zabbix_template(cluster.monitoring.language, cluster.monitoring.runbook_url or PAGES)
    return (File(path=TEMPLATE, content=text, gentle=".*"),)


def _receivers(cluster: Cluster) -> dict[str, Receiver]:
    return {name: cluster.monitoring.receivers[name] for name in cluster.monitoring.notify}


def _channels(cluster: Cluster) -> dict[str, str]:
    return {
        name: receiver.kind
        for name, receiver in _receivers(cluster).items()
        if isinstance(receiver, CHAT_RECEIVERS)
    }


def _sites(cluster: Cluster) -> dict[str, Json]:
    return {
        name: _site(cluster, receiver)
        for name, receiver in _receivers(cluster).items()
        if isinstance(receiver, Zabbix)
    }


def _site(cluster: Cluster, receiver: Zabbix) -> Json:
    config: Json = {"server": receiver.server, "host": receiver.host or cluster.name}
    if receiver.tls is None:
        return config
    client_files = {"certificate": f"{TLS}/{SCRAPE}.crt", "key": f"{TLS}/{SCRAPE}.key"}
    return config | {"tls": {"ca": str(receiver.tls), **client_files}}


def _settings(cluster: Cluster) -> str:
    """Return the notifier's settings file, which onhost/notify/settings reads."""
    monitoring = cluster.monitoring
    document: Json = {
        "cluster": cluster.name, "node": cluster.control.name, "language": monitoring.language,
        "port": NOTIFY_PORT, "secrets": SECRETS, "channels": _channels(cluster),
        "alertmanager": f"http://127.0.0.1:{ALERTMANAGER_PORT}", "data": "/var/lib/prometheus",
    }  # fmt: skip
    if sites := _sites(cluster):
        document |= {
            "zabbix": sites, "prometheus": f"http://127.0.0.1:{PROMETHEUS_PORT}",
            "alerts": [alert.name for alert in template_alerts()], "figures": template_figures(),
        }  # fmt: skip
    return json.dumps(document, indent=1) + "\n"
