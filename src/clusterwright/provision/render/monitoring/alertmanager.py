"""Alertmanager's configuration: routes, receivers and inhibitions; as JSON, which is also YAML."""

from __future__ import annotations

import json
from typing import Any

from clusterwright.catalog.watch.alert import Severity, alerts
from clusterwright.config.cluster import Cluster
from clusterwright.config.receivers import Email, Receiver, Slack, Webhook
from clusterwright.onhost.notify.settings import AUTHORIZATION

ALERTMANAGER_PORT, NOTIFY_PORT = 9093, 9098
SECRETS = "/etc/clusterwright/receivers"
NOTIFY = f"http://127.0.0.1:{NOTIFY_PORT}"
# Most alerts of a fault fire within a few seconds: with scrapes and rules every 5 s, a notification follows within 20
# s. Firing alerts are repeated after four hours; a new one in the group, such as a second fault of the host, is sent
# within a quarter of a minute.
GROUP_WAIT, GROUP_INTERVAL, REPEAT = "4s", "15s", "4h"
HEARTBEAT = "30s"
_LEVELS: tuple[Severity, ...] = ("info", "warning", "critical")
_OF_HOSTS = "gpu|fabric|host|monitoring|slurm"

Json = dict[str, Any]


def alertmanager_conf(cluster: Cluster) -> str:
    """Return alertmanager.yml; secrets are in separate files."""
    receivers = {name: cluster.monitoring.receivers[name] for name in cluster.monitoring.notify}
    document = {
        "route": {
            "receiver": "nobody",
            "group_by": ["cluster", "incident"],
            "group_wait": GROUP_WAIT,
            "group_interval": GROUP_INTERVAL,
            "repeat_interval": REPEAT,
            "routes": [*_quiet(), *(_route(name, receiver) for name, receiver in receivers.items())],
        },
        "inhibit_rules": inhibitions(),
        "receivers": [
            {"name": "nobody"},
            {"name": "heartbeat", "webhook_configs": [_notify_hook("heartbeat", resolved=False)]},
            *(_receiver(cluster.name, name, receiver) for name, receiver in receivers.items()),
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def inhibitions() -> list[Json]:
    """Return inhibition rules: a host that is down or drained mutes alerts that follow from it."""
    rules = [
        _mute('alertname="NodeDown"', ['alertname!="NodeDown"'], ["cluster", "node"], node=True),
        _mute('alertname="SeveralNodesDown"', ['alertname="NodeDown"'], ["cluster"]),
        _mute('alertname="Drained"', [f'component=~"{_OF_HOSTS}"'], ["cluster", "node"], node=True),
    ]
    for alert in alerts():
        for source, equal in alert.muted_by.items():
            rules.append(_mute(f'alertname="{source}"', [f'alertname="{alert.name}"'], ["cluster", *equal]))
    return rules


def _mute(source: str, target: list[str], equal: list[str], *, node: bool = False) -> Json:
    """Return an inhibition rule: a firing `source` mutes `target` alerts with equal values of the labels `equal`.

    With `node` only alerts with a node label match: two alerts without the label would count as equal.
    """
    matchers = [*target, 'severity!="none"', *(['node!=""'] if node else [])]
    return {"source_matchers": [source], "target_matchers": matchers, "equal": equal}


def _quiet() -> list[Json]:
    return [
        {
            "matchers": ['alertname="Watchdog"'],
            "receiver": "heartbeat",
            "group_by": ["alertname"],
            "group_wait": "0s",
            "group_interval": HEARTBEAT,
            "repeat_interval": HEARTBEAT,
        },
        {"matchers": ['severity="none"'], "receiver": "nobody"},
    ]


def _route(name: str, receiver: Receiver) -> Json:
    levels = "|".join(_LEVELS[_LEVELS.index(receiver.severity) :])
    return {"matchers": [f'severity=~"{levels}"'], "receiver": f"to {name}", "continue": True}


def _receiver(cluster: str, name: str, receiver: Receiver) -> Json:
    config: Json = {"name": f"to {name}"}
    secret = f"{SECRETS}/{name}"
    if isinstance(receiver, Email):
        return config | {"email_configs": [_mail(cluster, receiver, secret)]}
    if isinstance(receiver, Slack):
        return config | {"slack_configs": [_slack(secret)]}
    if isinstance(receiver, Webhook):
        hook = _hook(receiver.url)
        if receiver.secret_file is not None:
            hook["http_config"] = {"authorization": {"credentials_file": secret}}
        return config | {"webhook_configs": [hook]}
    return config | {"webhook_configs": [_notify_hook(f"to/{name}")]}


def _notify_hook(path: str, *, resolved: bool = True) -> Json:
    """Return the webhook of our notifier; the field `bearer_token_file` is valid in all releases of Alertmanager."""
    return _hook(f"{NOTIFY}/{path}", resolved=resolved) | {
        "http_config": {"bearer_token_file": f"{SECRETS}/{AUTHORIZATION}"}
    }


def _hook(url: str, *, resolved: bool = True) -> Json:
    return {"url": url, "send_resolved": resolved}


_LINES = (
    "{{ range .Alerts }}{{ .Annotations.summary }}\n{{ .Annotations.description }}\n"
    "{{ .Annotations.fix }}\n{{ .Annotations.runbook_url }}\n\n{{ end }}"
)


def _mail(cluster: str, receiver: Email, secret: str) -> Json:
    title = (
        "[{{ .Status | toUpper }}{{ if gt (len .Alerts) 1 }} {{ len .Alerts }}{{ end }}] "
        f"{cluster}: {{{{ (index .Alerts 0).Annotations.summary }}}}"
    )
    config: Json = {
        "to": ", ".join(receiver.to), "from": receiver.sender, "smarthost": receiver.server,
        "require_tls": receiver.tls,
        "send_resolved": True, "headers": {"Subject": title}, "text": _LINES, "html": "",
    }  # fmt: skip
    if receiver.user is not None:
        config |= {"auth_username": receiver.user, "auth_password_file": secret}
    return config


# Slack reads <!channel> and <https://...|text>: names of runs and jobs, which users choose, must be neither.
_SLACK_TEXT = ' | reReplaceAll "&" "&amp;" | reReplaceAll "<" "&lt;" | reReplaceAll ">" "&gt;" }}'


def _slack(secret: str) -> Json:
    names = ("summary", "description", "fix", "runbook_url")
    lines = "\n".join(f"{{{{ .Annotations.{name}{_SLACK_TEXT}" for name in names)
    return {
        "api_url_file": secret,
        "send_resolved": True,
        "text": f"{{{{ range .Alerts }}}}{lines}\n\n{{{{ end }}}}",
        "title": "[{{ .Status | toUpper }}] {{ .GroupLabels.cluster }}: {{ .GroupLabels.incident"
        + _SLACK_TEXT,
        "title_link": "{{ .ExternalURL }}",
    }
