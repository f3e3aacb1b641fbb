"""Notify operators: through Alertmanager if it is deployed, and always in the journal of the control host."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from clusterwright.edge.host import Host
from clusterwright.heal.actions.executor import Executor, failed
from clusterwright.heal.journal.journal import StoredNotification
from clusterwright.heal.rule import Rule
from clusterwright.i18n import bilingual
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import HEAL

ALERT = "ClusterwrightHealHandOver"
_EXPIRY_S = 24 * 3600  # lifetime of the alert; later, the host's other alerts remind the operator
# The body is on stdin, not on a command line that others could read. Python, because curl may be missing.
_POST = """import datetime, json, sys, urllib.request
body = json.load(sys.stdin)
now = datetime.datetime.now(datetime.timezone.utc)
for alert in body:
    alert["startsAt"] = now.isoformat()
    alert["endsAt"] = (now + datetime.timedelta(seconds=%d)).isoformat()
ask = urllib.request.Request("http://127.0.0.1:9093/api/v2/alerts", json.dumps(body).encode(),
                             {"Content-Type": "application/json"})
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(ask, timeout=10).read()
"""


def send_notification(notification: StoredNotification, rules: Mapping[str, Rule], executor: Executor) -> str:
    """Notify Alertmanager, if Prometheus is deployed, then log on the control host; return the error, or an empty text.

    An error of Alertmanager ends it before the log. Without Prometheus, the notification also becomes the node's
    comment in Slurm.
    """
    control = executor.cluster.control.name
    if executor.cluster.monitoring.prometheus:
        body = json.dumps([alert(notification, rules)]).encode()
        program = shlex.quote(_POST % _EXPIRY_S)
        post_result = Host(executor.remote, control).run(f"python3 -I -c {program}", stdin=body, timeout_s=30)
        if not post_result.ok:
            return failed(post_result)
    message = f"wright heal: {notification.host}: {notification.topic}: {notification.text}"
    result = executor.query(control, f"logger -t clusterwright -p daemon.warning -- {shlex.quote(message)}")
    if result.ok and not executor.cluster.monitoring.prometheus:
        _comment(notification, executor)
    return failed(result)


def alert(notification: StoredNotification, rules: Mapping[str, Rule]) -> dict[str, dict[str, str]]:
    """Return the alert for Alertmanager; its `node` label groups it with other alerts of the node."""
    rule = rules.get(notification.rule)
    summary, summary_zh = bilingual(
        "{host}: operator action required ({rule})", host=notification.host, rule=notification.rule
    )
    fix, fix_zh = bilingual(rule.fix if rule else "")
    return {
        "labels": {
            "alertname": ALERT,
            "severity": "warning",
            "component": "heal",
            "node": notification.host,
            "rule": notification.rule,
            "topic": notification.topic,
        },
        "annotations": {
            "summary": summary,
            "summary_zh": summary_zh,
            "description": notification.text,
            "fix": fix,
            "fix_zh": fix_zh,
        },
    }


def _comment(notification: StoredNotification, executor: Executor) -> None:
    """Set the node's comment in Slurm, unless a person wrote one.

    No effect for a host that is no node. Errors are ignored.
    """
    text = "".join(sign for sign in notification.text if sign.isalnum() or sign in " .,:;/()_-#%")[:200]
    executor.slurm(
        f"now=$({client.line(client.show_nodes([notification.host]))}) || exit 0\n"
        "case $now in *' Comment='*) case ${now#*' Comment='} in 'wright: '*) ;; *) exit 0 ;; esac ;; esac\n"
        + client.line(client.set_comment(notification.host, f"{HEAL}: {text}"))
    )
