"""Host metrics (node_exporter) on the management network, for clients with a certificate of the cluster."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.packages import packages
from clusterwright.provision.render.firewall_table import EXPORTER_PORT
from clusterwright.provision.resources import File, Resource, RoleContext, Unit
from clusterwright.provision.roles.certificates import AUTHORITY, CERTIFICATE, GROUP, KEY

DEPENDENCIES = ("base", "certificates")

NAME = "prometheus-node-exporter"
WEB = "/etc/clusterwright/node-exporter.yml"
# A lab host's disk is an overlay, which node_exporter excludes by default because containers use it on real hosts.
LAB_DISKS = "--collector.filesystem.fs-types-exclude=^(tmpfs|devtmpfs|proc|sysfs|cgroup2?|mqueue|nsfs|ramfs)$"
WEB_CONFIG = f"""tls_server_config:
  cert_file: {CERTIFICATE}
  key_file: {KEY}
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: {AUTHORITY}
"""
DROP_IN = f"""[Service]
# The group may read the host's key.
SupplementaryGroups={GROUP}
"""
# EPEL's packages have used several names of the unit and its variables, but one of the program. The flag has two
# names, and EPEL upgrades within a release.
EXPORTER_UNIT = """[Unit]
Description=Host metrics (clusterwright)
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=/bin/sh -c '/usr/bin/node_exporter --help 2>&1 | grep -q web.config.file && flag=web.config.file; \\
  exec /usr/bin/node_exporter {listen} --$${{flag:-web.config}}={web}'
DynamicUser=yes
SupplementaryGroups={group}
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""


def supports_tls(cluster: Cluster) -> bool:
    """Return whether the distribution's node_exporter supports TLS; older ones serve plain HTTP."""
    return cluster.platform.node_exporter_web_flag != ""


def node_exporter(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return node_exporter, listening on the management address only; nothing if `monitoring.node_exporter` is off."""
    if not cluster.monitoring.node_exporter:
        return ()
    platform, listen = cluster.platform, f"--web.listen-address={host.management}:{EXPORTER_PORT}"
    listen += f" {LAB_DISKS}" if cluster.lab is not None else ""
    files = [File(path=WEB, content=context.header() + WEB_CONFIG)] if supports_tls(cluster) else []
    if not platform.has_node_exporter_unit:
        text = EXPORTER_UNIT.format(listen=listen, web=WEB, group=GROUP)
        files.append(File(path=f"/etc/systemd/system/{NAME}.service", content=context.header() + text))
    else:
        arguments = f"{listen} --{platform.node_exporter_web_flag}={WEB}" if files else listen
        drop_in = File(
            path=f"/etc/systemd/system/{NAME}.service.d/clusterwright.conf",
            content=context.header() + DROP_IN,
        )
        files += [
            File(path=f"/etc/default/{NAME}", content=context.header() + f'ARGS="{arguments}"\n'),
            drop_in,
        ]
    read = (*(file.id for file in files), f"file:{KEY}", f"file:{CERTIFICATE}", f"file:{AUTHORITY}")
    return (*packages(cluster, NAME), *files, Unit(name=f"{NAME}.service", restart_on=read))
