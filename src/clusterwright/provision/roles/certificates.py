"""The host's TLS certificate; exporters accept only clients with a certificate of the cluster."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.resources import Directory, File, Group, Resource, RoleContext

DEPENDENCIES = ("base",)

FOLDER = "/etc/clusterwright/tls"
AUTHORITY, CERTIFICATE, KEY = f"{FOLDER}/ca.crt", f"{FOLDER}/host.crt", f"{FOLDER}/host.key"
SCRAPE = "scrape"  # name of Prometheus's client certificate, on the control host
GROUP = "clusterwright-tls"  # unprivileged daemons are members, to read the host's private key
GROUP_ID = 64877  # in Debian's range of IDs assigned on request (60000 to 64999), far from assigned ones


def subjects(cluster: Cluster) -> dict[str, str]:
    """Return the subject alternative names of each certificate (by host name, `.scrape`); {} if nothing is scraped."""
    if not cluster.monitoring.is_scraped:
        return {}
    hosts = {host.name: f"DNS:{host.name},IP:{host.management}" for host in cluster.hosts()}
    return hosts | {f".{SCRAPE}": f"DNS:{SCRAPE}"}  # no host's name begins with a dot


def certificates(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the CA certificate and the host's certificate and key; on the control host also Prometheus's.

    Nothing if monitoring scrapes no host.
    """
    if not cluster.monitoring.is_scraped:
        return ()
    files = [
        _file(context, AUTHORITY, "tls/ca.crt", 0o644),
        _file(context, CERTIFICATE, f"tls/{host.name}.crt", 0o644),
        _file(context, KEY, f"tls/{host.name}.key", 0o640),
    ]
    if cluster.monitoring.prometheus and host.name == cluster.control.name:
        files.append(_file(context, f"{FOLDER}/{SCRAPE}.crt", f"tls/.{SCRAPE}.crt", 0o644))
        files.append(_file(context, f"{FOLDER}/{SCRAPE}.key", f"tls/.{SCRAPE}.key", 0o640))
    return (Group(name=GROUP, gid=GROUP_ID, system=True), Directory(path=FOLDER), *files)


def _file(context: RoleContext, path: str, secret: str, mode: int) -> File:
    return File(path=path, content=context.secrets.get(secret, b""), group=GROUP, mode=mode, secret=secret)
