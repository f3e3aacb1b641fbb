"""SELinux stays enforcing where the distribution has it; policy modules permit what the cluster needs."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.config.storage import Nfs
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Resource, RoleContext, Unit

DEPENDENCIES = ("base",)

NAME = "clusterwright-selinux.service"
CONFIG = """
# Read at boot only. Clusterwright never runs setenforce: a permissive host is enforcing after its reboot.
SELINUX={mode}
SELINUXTYPE=targeted
"""
UNIT = """[Unit]
Description=SELinux booleans of the cluster (clusterwright)
After=local-fs.target

[Service]
Type=oneshot
RemainAfterExit=yes
# Persistent (-P), and queried first because writing takes seconds.
{steps}
[Install]
WantedBy=multi-user.target
"""
STEP = """# {reason}
ExecStart=/bin/sh -c 'selinuxenabled || exit 0; getsebool {name} | grep -q " on$" || setsebool -P {name}=on'
"""


@alike
def selinux(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the SELinux mode and a unit for the booleans, if any; nothing on distributions without SELinux.

    Slurm's daemons have no policy on Rocky and Alma and run unconfined, as do jobs. Our files are in folders whose
    default contexts fit: /opt, /etc, /var/lib, /run.
    """
    if not cluster.platform.has_selinux:
        return ()
    header = context.header()
    config = File(
        path="/etc/selinux/config",
        content=header + CONFIG.format(mode=cluster.security.selinux),
        cost=Cost.REBOOT,
    )
    booleans = _booleans(cluster)
    if not booleans:
        return (config,)
    steps = "".join(STEP.format(name=name, reason=reason) for name, reason in booleans)
    unit = File(path=f"/etc/systemd/system/{NAME}", content=header + UNIT.format(steps=steps))
    return (config, unit, Unit(name=NAME, restart_on=(unit.id,)))


def _booleans(cluster: Cluster) -> tuple[tuple[str, str], ...]:
    """Return name and reason of each boolean: only `use_nfs_home_dirs`, if a folder below /home is on NFS.

    Its source is sshd_selinux(8), "support NFS home directories".
    """
    homes = [
        folder.path
        for folder in cluster.storage.values()
        if isinstance(folder, Nfs) and (folder.path + "/").startswith("/home/")
    ]
    if not homes:
        return ()
    return (
        ("use_nfs_home_dirs", f"sshd reads the keys of users whose homes are on NFS ({', '.join(homes)})."),
    )
