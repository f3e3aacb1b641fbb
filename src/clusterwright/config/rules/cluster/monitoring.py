"""Monitoring: what is installed for it, and who is notified."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.config.receivers import Email, Zabbix
from clusterwright.i18n import _
from clusterwright.platforms import platforms


def prometheus(cluster: Cluster) -> Iterator[Clash]:
    """Some have none, and those of some are too old."""
    if not cluster.monitoring.prometheus:
        return
    locs = (("monitoring", "prometheus"), ("os",))
    old = cluster.platform.old_prometheus
    if old:
        message = _("{os} has {old}, which are too old for what we write", os=cluster.os, old=old)
        able = [
            candidate.name
            for candidate in platforms()
            if candidate.has_prometheus and not candidate.old_prometheus
        ]
        yield Clash("prometheus-no-package", message, _("use one of {able}", able=", ".join(able)), locs)
    if not cluster.platform.has_prometheus:
        yield Clash(
            "prometheus-no-package",
            _("{os} has no packages of Prometheus and Alertmanager", os=cluster.os),
            _(
                "set it to false and read the exporters with a Prometheus of yours; `wright render` "
                "of the same file with another `os` shows our rules"
            ),
            locs,
        )


GRAFANA_LOC = ("monitoring", "grafana")


def grafana(cluster: Cluster) -> Iterator[Clash]:
    """No distribution has its package, and without Prometheus its pages are empty."""
    if not cluster.monitoring.grafana:
        return
    if not cluster.monitoring.prometheus:
        yield Clash(
            "grafana-without-prometheus",
            _("the dashboards would be empty: what they show is in Prometheus, which is off"),
            _("set monitoring.prometheus to true, or grafana to false"),
            (GRAFANA_LOC, ("monitoring", "prometheus")),
        )
    if not cluster.software.repositories:
        yield Clash(
            "grafana-no-package",
            _("{os} has no package of Grafana", os=cluster.os),
            _(
                "name a repository that has it in software.repositories (https://apt.grafana.com, "
                "https://rpm.grafana.com)"
            ),
            (GRAFANA_LOC, ("software",)),
        )


def notify(cluster: Cluster) -> Iterator[Clash]:
    """Who is told is one of the receivers, and there is a Prometheus that raises alerts."""
    monitoring = cluster.monitoring
    if monitoring.notify and not monitoring.prometheus:
        yield Clash(
            "nobody-notified",
            _("nothing would ever be told to the receivers: alerts come from Prometheus, which is off"),
            _("set monitoring.prometheus to true, or take notify out"),
            (("monitoring", "notify"), ("monitoring", "prometheus")),
        )
    for index, name in enumerate(monitoring.notify):
        if name not in monitoring.receivers:
            from difflib import get_close_matches

            suggestions = get_close_matches(name, monitoring.receivers, 1)
            yield Clash(
                "unknown-receiver",
                _("`{name}` is to be told of alerts, and nothing says how it is reached", name=name),
                _("did you mean `{suggestions}`?", suggestions=suggestions[0])
                if suggestions
                else _("describe it: monitoring.receivers.{name}", name=name),
                (("monitoring", "notify", index), ("monitoring", "receivers")),
            )
    for name, receiver in monitoring.receivers.items():
        if isinstance(receiver, Email):
            yield from _mail(cluster, name, receiver)
        if isinstance(receiver, Zabbix) and receiver.tls is None and receiver.public:
            yield Clash(
                "bad-address",
                _(
                    "`{name}` is a Zabbix at a public address, and what is said would go there in the clear",
                    name=name,
                ),
                _("set tls, or name a Zabbix proxy in a network of the site's own"),
                (("monitoring", "receivers", name, "server"),),
            )


def _mail(cluster: Cluster, name: str, receiver: Email) -> Iterator[Clash]:
    loc = ("monitoring", "receivers", name)
    if (receiver.user is None) != (receiver.secret_file is None):
        yield Clash(
            "receiver-mail-login",
            _(
                "`{name}` has {ending}",
                name=name,
                ending="a password and no user" if receiver.user is None else "a user and no password",
            ),
            _("give both user and secret_file, or neither"),
            (loc,),
        )
    if receiver.secret_file is not None and not cluster.platform.has_alertmanager_mail_password_file:
        yield Clash(
            "receiver-mail-login",
            _("the Alertmanager of {os} reads no mail password from a file", os=cluster.os),
            _(
                "send by a mail server that lets the control host in without one, or use another "
                "kind of receiver"
            ),
            (loc, ("os",)),
        )
