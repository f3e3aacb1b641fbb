"""Prometheus's configuration: targets, intervals and client certificates; as JSON, which is also YAML."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.firewall_table import CLUSTER_EXPORTER_PORT, EXPORTER_PORT
from clusterwright.provision.render.monitoring.alertmanager import ALERTMANAGER_PORT
from clusterwright.provision.render.monitoring.rules import EVERY

PROMETHEUS_PORT = 9090
RULES = "/etc/prometheus/clusterwright.rules.yml"
SITE = "/etc/prometheus/targets"  # folder for further targets of the site: DCGM's exporter, switches, chassis
TLS = "/etc/clusterwright/tls"
# A lost host is reported after two scrapes without a response, so these scrapes are frequent and small.
SCRAPE, QUICK, QUICK_LIMIT = "15s", "5s", "3s"

# Metrics that are accepted from control hosts only: runs, Slurm, checks of all nodes, and names of recording rules.
_OF_CONTROL = "clusterwright_(run|slurm)_.*|.*:.*"

Json = dict[str, Any]


def prometheus_conf(cluster: Cluster, *, host_metrics_over_tls: bool) -> str:
    """Return prometheus.yml as JSON; it scrapes node_exporter by TLS if `host_metrics_over_tls`, else without."""
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
            *(_exporter_jobs(cluster) if cluster.monitoring.exporter else ()),
            _local_job(cluster, "prometheus", PROMETHEUS_PORT),
            _local_job(cluster, "alertmanager", ALERTMANAGER_PORT),
            {"job_name": "site", "honor_labels": True, "file_sd_configs": [{"files": [f"{SITE}/*.json"]}]},
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _hosts(cluster: Cluster, *, tls: bool) -> list[Json]:
    """Return scrape jobs for node_exporter, and short-interval ones for host liveness only."""
    alive = {
        "scrape_interval": QUICK, "scrape_timeout": QUICK_LIMIT, "params": {"collect[]": ["time"]},
        "metric_relabel_configs": [_drop(".*")],
    }  # fmt: skip
    return [
        *_jobs(cluster, "node", EXPORTER_PORT, tls=tls),
        *(job | alive for job in _jobs(cluster, "alive", EXPORTER_PORT, tls=tls)),
    ]


def _exporter_jobs(cluster: Cluster) -> list[Json]:
    quick = {"scrape_interval": QUICK, "scrape_timeout": QUICK_LIMIT}
    return [job | quick for job in _jobs(cluster, "clusterwright", CLUSTER_EXPORTER_PORT, tls=True)]


def _jobs(cluster: Cluster, name: str, port: int, *, tls: bool) -> list[Json]:
    """Return two scrape jobs, of control hosts and of all others; the label `job` of `up` is `name` in both.

    Control hosts may set the labels of their metrics (`honor_labels`). Other hosts can report about themselves only:
    labels of the target override theirs, except `job`, which is the Slurm job.
    """
    control = cluster.hosts("control")
    not_control = tuple(host for host in cluster.hosts() if host not in control)
    of_control = _job(cluster.name, control, f"{name}-control", port, tls=tls) | {"honor_labels": True}
    for targets in of_control["static_configs"]:
        targets["labels"]["job"] = name
    relabeling = [
        _drop(_OF_CONTROL),
        {"source_labels": ["exported_job"], "regex": "(.+)", "target_label": "job"},
        {"regex": "exported_(job|node|instance|cluster)", "action": "labeldrop"},
    ]
    return [
        of_control,
        _job(cluster.name, not_control, name, port, tls=tls) | {"metric_relabel_configs": relabeling},
    ]


def _drop(names: str) -> Json:
    return {"source_labels": ["__name__"], "regex": names, "action": "drop"}


def _job(cluster: str, hosts: Iterable[Host], name: str, port: int, *, tls: bool) -> Json:
    """Return a scrape job by address, so that a failed name server does not look like failed hosts."""
    targets = [
        {
            "targets": [f"{host.management}:{port}"],
            "labels": {"cluster": cluster, "node": host.name, "instance": host.name},
        }
        for host in hosts
    ]
    config: Json = {"job_name": name, "static_configs": targets}
    if not tls:
        return config
    files = {"ca_file": f"{TLS}/ca.crt", "cert_file": f"{TLS}/scrape.crt", "key_file": f"{TLS}/scrape.key"}
    return config | {"scheme": "https", "tls_config": files}


def _local_job(cluster: Cluster, name: str, port: int) -> Json:
    labels = {"cluster": cluster.name, "node": cluster.control.name, "instance": cluster.control.name}
    return {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": labels}]}
