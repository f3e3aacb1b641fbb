"""Queries of Prometheus and Alertmanager, reduced (standard library, Python 3.8; sent to the controller)."""

from __future__ import annotations

import calendar
import json
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, List, Tuple

from clusterwright.onhost.lib.numbers import ascii_int

MOST_BYTES = 64 << 20  # bytes of one response: 100,000 GPUs
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy for loopback

# PromQL of metrics by node and GPU. The names are those of docs/decisions/0010-watch.md.
OF_GPUS = {
    "utilisation": "max by (node, gpu) (gpu:utilisation:ratio)",
    "memory_used": "max by (node, gpu) (gpu:memory_used:bytes)",
    "memory_total": "max by (node, gpu) (gpu:memory_total:bytes)",
    "celsius": "max by (node, gpu) (gpu:temperature:celsius)",
    "watts": "max by (node, gpu) (gpu:power:watts)",
}
NAMED = {  # metrics whose value is a label
    "job": ("max by (node, gpu, job) (clusterwright_gpu_job_info)", "job"),
    "name": ("max by (node, gpu, name) (clusterwright_gpu_info)", "name"),
}
OF_RUNS = {
    "goodput": "max by (run) (clusterwright_run_goodput_ratio)",
    "checkpoint_age_s": "max by (run) (clusterwright_run_checkpoint_age_seconds)",
    "slow_rank": "max by (run, rank, host) (clusterwright_run_slow_rank_ratio)",
}


def measures(
    url: str, limit_s: float
) -> Tuple[Dict[str, Dict[str, Dict[str, Any]]], Dict[str, Dict[str, Any]]]:
    """Return Prometheus's values by metric, node and GPU, and values by run and metric.

    Raises:
        OSError: Prometheus does not respond in time.
        ValueError: its response is invalid.
    """
    end = time.monotonic() + limit_s
    gpus: Dict[str, Dict[str, Dict[str, Any]]] = {}
    for family, query in OF_GPUS.items():
        for labels, value in query_prometheus(url, query, end):
            _set_value(gpus, family, labels, value)
    for family, (query, label) in NAMED.items():
        for labels, _ in query_prometheus(url, query, end):
            _set_value(gpus, family, labels, str(labels.get(label, "")))
    runs: Dict[str, Dict[str, Any]] = {}
    for family, query in OF_RUNS.items():
        for labels, value in query_prometheus(url, query, end):
            slow = f"rank {labels.get('rank')} on {labels.get('host')}: {value:.2g} times as long"
            runs.setdefault(str(labels.get("run", "")), {})[family] = slow if family == "slow_rank" else value
    return gpus, runs


def _set_value(
    gpus: Dict[str, Dict[str, Dict[str, Any]]], family: str, labels: Dict[str, str], value: Any
) -> None:
    node, index = labels.get("node", ""), labels.get("gpu", "")
    if node and ascii_int(index) is not None:
        gpus.setdefault(family, {}).setdefault(node, {})[index] = value


def query_prometheus(url: str, query: str, end: float) -> List[Tuple[Dict[str, str], float]]:
    """Run an instant query, and return (labels, value) of each row; NaN and infinite values are left out."""
    document = fetched(url + "/api/v1/query?" + urllib.parse.urlencode({"query": query}), end)
    rows = document["data"]["result"] if isinstance(document, dict) else []
    numbers = [(row["metric"], float(row["value"][1])) for row in rows]
    return [(labels, value) for labels, value in numbers if math.isfinite(value)]


def alerts(url: str, limit_s: float) -> List[Dict[str, Any]]:
    """Return the active alerts of the Alertmanager at `url`, silenced ones included, as dicts.

    Each has labels, annotations, when it began (epoch seconds) and whether it is muted.
    """
    document = fetched(url + "/api/v2/alerts", time.monotonic() + limit_s)
    return [
        {
            "labels": alert.get("labels") or {},
            "annotations": alert.get("annotations") or {},
            "since": seconds(str(alert.get("startsAt", ""))),
            "muted": (alert.get("status") or {}).get("state") == "suppressed",
        }
        for alert in document
        if isinstance(alert, dict)
    ]


def firing_alerts(url: str, limit_s: float) -> List[Dict[str, Any]]:
    """Return the firing alerts of Prometheus, which does not know which are silenced."""
    document = fetched(url + "/api/v1/alerts", time.monotonic() + limit_s)
    return [
        {
            "labels": alert.get("labels") or {},
            "annotations": alert.get("annotations") or {},
            "since": seconds(str(alert.get("activeAt", ""))),
            "muted": False,
        }
        for alert in document["data"]["alerts"]
        if alert.get("state") == "firing"
    ]


def seconds(stamp: str) -> float:
    """Return epoch seconds of Alertmanager's timestamp `2026-11-23T02:13:20.5Z`, in any time zone; 0 if invalid."""
    try:
        epoch_s = calendar.timegm(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return 0.0
    zone = stamp[-6:]
    hours, minutes = ascii_int(zone[1:3]), ascii_int(zone[4:])
    if zone[:1] in ("+", "-") and hours is not None and minutes is not None:
        ahead = hours * 3600 + minutes * 60
        return float(epoch_s - ahead if zone[0] == "+" else epoch_s + ahead)
    return float(epoch_s)


def fetched(url: str, end: float) -> Any:
    """Fetch a URL and return its JSON document.

    Raises:
        OSError: no response until `end`, or one with an error.
    """
    remaining_s = end - time.monotonic()
    if remaining_s <= 0:
        raise OSError("no response in time")
    try:
        with _DIRECT.open(url, timeout=remaining_s) as answer:  # (loopback, and http as we wrote it)
            return json.loads(answer.read(MOST_BYTES))
    except urllib.error.HTTPError as error:
        raise OSError(f"HTTP status {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise OSError(str(getattr(error.reason, "strerror", "") or error.reason)) from error
