"""Grafana on the control host's loopback, with Prometheus as data source and the Clusterwright dashboards."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.monitoring.dashboards import dashboard_files
from clusterwright.provision.resources import Directory, File, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("base",)

FOLDER = "/var/lib/clusterwright/grafana"
FIRST_LOGIN = "/etc/grafana/clusterwright.password"
HOME = f"{FOLDER}/clusterwright-cluster.json"

SOURCES = """apiVersion: 1
datasources:
  - name: Prometheus
    uid: clusterwright
    type: prometheus
    access: proxy
    url: http://127.0.0.1:9090
    isDefault: true
    jsonData:
      timeInterval: 15s
"""

PROVIDER = f"""apiVersion: 1
providers:
  - name: clusterwright
    folder: Clusterwright
    type: file
    allowUiUpdates: false
    options:
      path: {FOLDER}
"""

# The rest of grafana.ini belongs to the site. Listening elsewhere than on loopback needs the site's TLS and host name.
DROP_IN = f"""[Service]
Environment=GF_SERVER_HTTP_ADDR=127.0.0.1
Environment=GF_SECURITY_ADMIN_PASSWORD__FILE={FIRST_LOGIN}
Environment=GF_USERS_ALLOW_SIGN_UP=false
Environment=GF_ANALYTICS_REPORTING_ENABLED=false
Environment=GF_ANALYTICS_CHECK_FOR_UPDATES=false
Environment=GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH={HOME}
"""


def grafana(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return Grafana, on loopback, for the first control host with `monitoring.grafana`, else nothing.

    Operators reach it by `ssh -L 3000:127.0.0.1:3000`; the generated password is the initial one only.
    """
    if not cluster.monitoring.grafana or host.name != cluster.control.name:
        return ()
    package, header = Package(name="grafana"), context.header()
    settings = (
        File(path="/etc/grafana/provisioning/datasources/clusterwright.yaml", content=header + SOURCES),
        File(path="/etc/grafana/provisioning/dashboards/clusterwright.yaml", content=header + PROVIDER),
        File(
            path="/etc/systemd/system/grafana-server.service.d/clusterwright.conf", content=header + DROP_IN
        ),
        _password(context),
    )
    pages = (
        File(path=f"{FOLDER}/{name}", content=text, gentle=".*") for name, text in dashboard_files().items()
    )
    restart_on = (package.id, *(file.id for file in settings))
    return (
        package,
        *settings,
        Directory(path=FOLDER),
        *pages,
        Unit(name="grafana-server.service", restart_on=restart_on),
    )


def _password(context: RoleContext) -> File:
    named = "grafana.password"
    content = context.secrets.get(named, b"")
    return File(path=FIRST_LOGIN, content=content, group="grafana", mode=0o640, secret=named)
