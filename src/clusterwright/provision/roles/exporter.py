"""The Clusterwright exporter: GPUs, jobs, XIDs and health checks; on the control host also Slurm and runs."""

from __future__ import annotations

import json

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.firewall_table import CLUSTER_EXPORTER_PORT
from clusterwright.provision.resources import Directory, File, Resource, RoleContext, Unit
from clusterwright.provision.roles.certificates import AUTHORITY, CERTIFICATE, KEY
from clusterwright.provision.roles.training import LIBRARY
from clusterwright.provision.sandbox import sandbox

DEPENDENCIES = ("base", "certificates", "training")

UNIT = "clusterwright-exporter.service"
SETTINGS = "/etc/clusterwright/exporter.json"
SOURCES = (
    "clusterwright/onhost/exporter/",
    "clusterwright/onhost/lib/",
    "clusterwright/onhost/supervisor/goodput/",
    "clusterwright/slurm/",
)
MEMORY_MIB = {"control": 256, "compute": 96, "login": 96}
CPU_PERCENT = {"control": 50, "compute": 20, "login": 20}
# The first Python of version 3.8 or later; RHEL 8 and Ubuntu 20.04 install newer ones under versioned names.
_START = (
    "for python in python3 python3.13 python3.12 python3.11 python3.10 python3.9 python3.8 {python}; do"
    ' $${{python}} -IS -c "import sys; sys.exit(sys.version_info < (3, 8))" 2>/dev/null &&'
    " exec $${{python}} -m clusterwright.onhost.exporter; done;"
    " echo there is no Python of 3.8 or later >&2; exit 1"
)
_THREATS = (
    "Reached by: clients with a certificate of the cluster, over TLS. Reads: other users' processes, run "
    "folders, GPUs, the kernel's log. A user who takes it over reads what root may read and signals nothing; "
    "it changes only its own two folders."
)
_TEXT = """[Unit]
Description=Metrics of GPUs, jobs and Slurm (clusterwright)
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Environment=PYTHONPATH={library} PYTHONDONTWRITEBYTECODE=1
ExecStart=/bin/sh -c '{start}'
StateDirectory=clusterwright/exporter
RuntimeDirectory=clusterwright-exporter
StateDirectoryMode=0700
RuntimeDirectoryMode=0700
UMask=0077
Restart=always
RestartSec=5
KillMode=control-group
TimeoutStopSec=10

# Limits; if a collector exceeds them, it is killed, and the other collectors continue.
MemoryMax={memory}M
CPUQuota={cpu}%
TasksMax=128
OOMPolicy=continue

{sandbox}

[Install]
WantedBy=multi-user.target
"""


def exporter(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the unit of our metrics exporter and its settings for this host.

    Nothing if `monitoring.exporter` is off.
    """
    if not cluster.monitoring.exporter:
        return ()
    settings = File(path=SETTINGS, content=_settings(cluster, host))
    text = exporter_unit(host.group.role, cluster.software.python, in_lab=cluster.lab is not None)
    unit = File(path=f"/etc/systemd/system/{UNIT}", content=context.header() + text)
    code = [f"file:{LIBRARY}/{path}" for path in sorted(context.payload) if path.startswith(SOURCES)]
    tls = [f"file:{path}" for path in (AUTHORITY, CERTIFICATE, KEY)]
    restart_on = (settings.id, unit.id, *code, *tls)
    return (
        Directory(path="/etc/clusterwright"),
        settings,
        unit,
        Unit(name=UNIT, restart_on=restart_on, independent=True),
    )


def exporter_unit(role: str, python: str, *, library: str = LIBRARY, in_lab: bool = False) -> str:
    """Return the text of the exporter's systemd unit, with the memory and CPU limits of the host's role.

    `python` is tried after the names of known releases; `library` is the folder with our modules.
    """
    return _TEXT.format(
        library=library, start=_START.format(python=python),
        memory=MEMORY_MIB[role], cpu=CPU_PERCENT[role], sandbox=_sandbox(in_lab=in_lab),
    )  # fmt: skip


def _sandbox(*, in_lab: bool) -> str:
    """Return the sandbox of the unit. It lists no devices, because GPU drivers may load after the unit has started.

    For two settings systemd mounts a new /proc, in which the simulated GPUs of a lab are missing.
    """
    new_proc = {"ProtectControlGroups": "", "ProtectKernelTunables": ""} if in_lab else {}
    return sandbox(
        _THREATS,
        CapabilityBoundingSet="CAP_SYS_PTRACE CAP_DAC_READ_SEARCH",
        PrivateDevices="",
        ProtectClock="",
        MemoryDenyWriteExecute="",
        RestrictAddressFamilies="AF_UNIX AF_INET AF_INET6 AF_NETLINK",
        **new_proc,
    )


def _settings(cluster: Cluster, host: Host) -> str:
    """Return the settings that onhost/exporter/settings reads; omitted ones have the defaults of that file."""
    compute, control = host.group.role == "compute", host.name == cluster.control.name
    gpus = host.group.gpus
    mounts = [disk.mount for disk in host.group.disks if disk.mount and cluster.lab is None]
    shared = [folder.path for folder in cluster.storage.values()]
    document = {
        "node": host.name, "listen": str(host.management), "port": CLUSTER_EXPORTER_PORT, "slurmd": compute,
        "control": control, "gpus": gpus.count if gpus and compute else 0,
        "paths": list(dict.fromkeys(["/", *shared, *mounts])),
        "runs": f"{cluster.shared_folder}/runs" if cluster.shared_folder else "",
    }  # fmt: skip
    return json.dumps(document, indent=1) + "\n"
