"""Prometheus's configuration: targets, intervals and client certificates; as JSON, which is also YAML."""

from __future__ import annotations

import json
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.provision.render.firewall_table import CLUSTER_EXPORTER_PORT, EXPORTER_PORT
from clusterwright.provision.render.monitoring.alertmanager import ALERTMANAGER_PORT
from clusterwright.provision.render.monitoring.rules import EVERY

PROMETHEUS_PORT = 9090
RULES = "/etc/prometheus/clusterwright.rules.yml"
SITE = "/etc/prometheus/targets"  # the site's own: DCGM's exporter, switches, chassis
TLS = "/etc/clusterwright/tls"
# A lost host is reported after two scrapes without a response, so these scrapes are frequent and small.
SCRAPE, QUICK, QUICK_LIMIT = "15s", "5s", "3s"

Json = dict[str, Any]


def prometheus_conf(cluster: Cluster, *, host_metrics_over_tls: bool) -> str:
    """Return prometheus.yml."""
    document = {
        "global": {
            "scrape_interval": SCRAPE,
            "scrape_timeout": "10s",
            "evaluation_interval": EVERY,
            "external_labels": {"cluster": cluster.name},
        },
        "rule_files": [RULES],
        "alerting": {
            "alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{ALERTMANAGER_PORT}"]}]}]
        },
        "scrape_configs": [
            *(_hosts(cluster, tls=host_metrics_over_tls) if cluster.monitoring.node_exporter else ()),
            *([_exporter_job(cluster)] if cluster.monitoring.exporter else ()),
            _local_job(cluster, "prometheus", PROMETHEUS_PORT),
            _local_job(cluster, "alertmanager", ALERTMANAGER_PORT),
            {"job_name": "site", "honor_labels": True, "file_sd_configs": [{"files": [f"{SITE}/*.json"]}]},
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _hosts(cluster: Cluster, *, tls: bool) -> list[Json]:
    """Return scrape jobs for node_exporter, and a short-interval one for host liveness only."""
    all_metrics = _job(cluster, "node", EXPORTER_PORT, tls=tls)
    alive = _job(cluster, "alive", EXPORTER_PORT, tls=tls) | {
        "scrape_interval": QUICK, "scrape_timeout": QUICK_LIMIT, "params": {"collect[]": ["time"]},
        "metric_relabel_configs": [{"source_labels": ["__name__"], "regex": ".*", "action": "drop"}],
    }  # fmt: skip
    return [all_metrics, alive]


def _exporter_job(cluster: Cluster) -> Json:
    quick = {"scrape_interval": QUICK, "scrape_timeout": QUICK_LIMIT}
    return _job(cluster, "clusterwright", CLUSTER_EXPORTER_PORT, tls=True) | quick


def _job(cluster: Cluster, name: str, port: int, *, tls: bool) -> Json:
    """Return a scrape job by address, so that a failed name server does not look like failed hosts.

    Labels of the target win.
    """
    targets = [
        {
            "targets": [f"{host.management}:{port}"],
            "labels": {"cluster": cluster.name, "node": host.name, "instance": host.name},
        }
        for host in cluster.hosts()
    ]
    config: Json = {"job_name": name, "honor_labels": True, "static_configs": targets}
    if not tls:
        return config
    files = {"ca_file": f"{TLS}/ca.crt", "cert_file": f"{TLS}/scrape.crt", "key_file": f"{TLS}/scrape.key"}
    return config | {"scheme": "https", "tls_config": files}


def _local_job(cluster: Cluster, name: str, port: int) -> Json:
    labels = {"cluster": cluster.name, "node": cluster.control.name, "instance": cluster.control.name}
    return {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": labels}]}
