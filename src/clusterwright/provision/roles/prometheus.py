"""Prometheus on the control host's loopback: it scrapes every exporter with a client certificate and raises alerts."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.monitoring.prometheus import PROMETHEUS_PORT, RULES, SITE, prometheus_conf
from clusterwright.provision.render.monitoring.rules import rules
from clusterwright.provision.resources import Directory, File, Package, Resource, RoleContext, Unit
from clusterwright.provision.roles.certificates import FOLDER, GROUP, SCRAPE
from clusterwright.provision.roles.node_exporter import supports_tls

DEPENDENCIES = ("base", "certificates")

PAGES = "docs/reference/alerts"
# Alertmanager keeps an alert for four resend delays, also the one that always fires: with Prometheus's default of a
# minute, a dead Prometheus would go unnoticed for four minutes.
RESEND_DELAY = "15s"
DROP_IN = f"""[Service]
# The group may read the key with which Prometheus authenticates to exporters.
SupplementaryGroups={GROUP}
# Restart after a crash, for example when a full disk has room again.
Restart=always
RestartSec=5

[Unit]
StartLimitIntervalSec=0
"""


def prometheus(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the distribution's Prometheus for the first control host with `monitoring.prometheus`, else nothing.

    It reloads changed targets and rules without a restart.
    """
    if not cluster.monitoring.prometheus or host.name != cluster.control.name:
        return ()
    monitoring, header = cluster.monitoring, context.header()
    arguments = [
        f"--web.listen-address=127.0.0.1:{PROMETHEUS_PORT}",
        f"--storage.tsdb.retention.time={monitoring.retention}s",
        f"--rules.alert.resend-delay={RESEND_DELAY}",
    ]
    if monitoring.external_url:
        arguments += [f"--web.external-url={monitoring.external_url}", "--web.route-prefix=/"]
    settings = File(path="/etc/default/prometheus", content=f'{header}ARGS="{" ".join(arguments)}"\n')
    conf = File(
        path="/etc/prometheus/prometheus.yml",
        content=header + prometheus_conf(cluster, host_metrics_over_tls=supports_tls(cluster)),
        gentle=".*", validate=("promtool", "check", "config", "--syntax-only", "{}"),
    )  # fmt: skip
    rules_file = File(
        path=RULES,
        content=header + rules(monitoring.language, monitoring.runbook_url or PAGES),
        gentle=".*",
        validate=("promtool", "check", "rules", "{}"),
    )
    drop_in = File(
        path="/etc/systemd/system/prometheus.service.d/clusterwright.conf", content=header + DROP_IN
    )
    keys = (f"file:{FOLDER}/{SCRAPE}.key", f"file:{FOLDER}/{SCRAPE}.crt", f"file:{FOLDER}/ca.crt")
    return (
        Package(name="prometheus"),
        Directory(path=SITE),
        rules_file,
        conf,
        settings,
        drop_in,
        Unit(
            name="prometheus.service",
            independent=True,
            restart_on=(conf.id, rules_file.id, settings.id, drop_in.id, *keys),
        ),
    )
