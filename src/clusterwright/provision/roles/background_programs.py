"""Programs of users outside of jobs on compute hosts: crontab, at, and managers of their own (systemd --user)."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.render.isolation import FIRST_USER
from clusterwright.provision.resources import File, Resource, RoleContext
from clusterwright.provision.roles.pam_slurm_adopt import always_admitted

DEPENDENCIES = ("ssh",)

CRON, AT = "/etc/cron.allow", "/etc/at.allow"  # the same in all distributions
DROP_IN = "/etc/systemd/system/user@.service.d/clusterwright.conf"
_NO_MANAGER = f"""[Service]
# A user's manager and what it starts run outside of jobs, and with `loginctl enable-linger` from boot on. System
# accounts and those in {CRON} have one.
ExecStartPre=+/bin/sh -c 'test %i -lt {FIRST_USER} || id -nu %i | grep -qFxf {CRON}'
"""


@alike
def background_programs(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the files that permit crontab, at and a user manager only to accounts that need no job to log in.

    Only for compute hosts with `security.login: jobs-only`, else nothing.
    """
    if host.group.role != "compute" or cluster.security.login != "jobs-only":
        return ()
    header = context.header()
    names = "".join(f"{name}\n" for name in always_admitted(cluster))
    texts = {CRON: names, AT: names, DROP_IN: _NO_MANAGER}
    return tuple(File(path=path, content=header + text) for path, text in texts.items())
