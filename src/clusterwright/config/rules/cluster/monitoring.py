"""Rules about monitoring: packages and receivers."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.config.receivers import Email, Zabbix
from clusterwright.errors import unknown_name_fix
from clusterwright.i18n import _
from clusterwright.platforms import platforms


def prometheus(cluster: Cluster) -> Iterator[Clash]:
    """Check that the control hosts' distribution has recent enough packages of Prometheus, if that is enabled."""
    if not cluster.monitoring.prometheus:
        return
    cluster, loc = cluster.first_system("control")
    locs = (("monitoring", "prometheus"), loc)
    old = cluster.platform.old_prometheus
    if old:
        message = _(
            "{os} has {versions}, which are too old for our configuration", os=cluster.os, versions=old
        )
        able = [
            candidate.name
            for candidate in platforms()
            if candidate.has_prometheus and not candidate.old_prometheus
        ]
        yield Clash("prometheus-no-package", message, _("use one of {names}", names=", ".join(able)), locs)
    if not cluster.platform.has_prometheus:
        yield Clash(
            "prometheus-no-package",
            _("{os} has no packages of Prometheus and Alertmanager", os=cluster.os),
            _(
                "set it to false and scrape the exporters with another Prometheus; `wright render` of this file with "
                "another `os` shows our rules"
            ),
            locs,
        )


GRAFANA_LOC = ("monitoring", "grafana")


def grafana(cluster: Cluster) -> Iterator[Clash]:
    """Check that Grafana, if enabled, has Prometheus as its data source, and some repository is declared.

    Its package is in no distribution.
    """
    if not cluster.monitoring.grafana:
        return
    if not cluster.monitoring.prometheus:
        yield Clash(
            "grafana-without-prometheus",
            _("Grafana's dashboards need Prometheus, which is disabled"),
            _("set monitoring.prometheus to true, or grafana to false"),
            (GRAFANA_LOC, ("monitoring", "prometheus")),
        )
    if not cluster.software.repositories:
        yield Clash(
            "grafana-no-package",
            _("{os} has no package of Grafana", os=cluster.os),
            _(
                "add its repository to software.repositories (https://apt.grafana.com, https://rpm.grafana.com)"
            ),
            (GRAFANA_LOC, ("software",)),
        )


def notify(cluster: Cluster) -> Iterator[Clash]:
    """Check that names in `notify` are receivers, Prometheus raises alerts, and mail and Zabbix are usable.

    Zabbix at a public address needs `tls`.
    """
    monitoring = cluster.monitoring
    if monitoring.notify and not monitoring.prometheus:
        yield Clash(
            "nobody-notified",
            _("receivers need alerts from Prometheus, which is disabled"),
            _("set monitoring.prometheus to true, or remove notify"),
            (("monitoring", "notify"), ("monitoring", "prometheus")),
        )
    for index, name in enumerate(monitoring.notify):
        if name not in monitoring.receivers:
            yield Clash(
                "unknown-receiver",
                _("notify lists receiver `{name}`, which is not declared", name=name),
                unknown_name_fix(
                    name, monitoring.receivers, _("declare monitoring.receivers.{name}", name=name)
                ),
                (("monitoring", "notify", index), ("monitoring", "receivers")),
            )
    for name, receiver in monitoring.receivers.items():
        if isinstance(receiver, Email):
            yield from _mail(cluster, name, receiver)
        if isinstance(receiver, Zabbix) and receiver.tls is None and receiver.public:
            yield Clash(
                "bad-address",
                _("receiver `{name}` has a public address but no tls, so traffic is unencrypted", name=name),
                _("set tls, or use a Zabbix proxy in a private network"),
                (("monitoring", "receivers", name, "server"),),
            )


def _mail(cluster: Cluster, name: str, receiver: Email) -> Iterator[Clash]:
    loc = ("monitoring", "receivers", name)
    cluster, os_loc = cluster.first_system("control")
    if (receiver.user is None) != (receiver.secret_file is None):
        if receiver.user is None:
            message = _("receiver `{name}` has a password but no user", name=name)
        else:
            message = _("receiver `{name}` has a user but no password", name=name)
        yield Clash("receiver-mail-login", message, _("set both user and secret_file, or neither"), (loc,))
    if receiver.secret_file is not None and not cluster.platform.has_alertmanager_mail_password_file:
        yield Clash(
            "receiver-mail-login",
            _("the Alertmanager of {os} cannot read a mail password from a file", os=cluster.os),
            _("use a mail server that needs no login from the control host, or another kind of receiver"),
            (loc, os_loc),
        )
