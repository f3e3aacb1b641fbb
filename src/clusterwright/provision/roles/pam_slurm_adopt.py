"""SSH logins of users on compute hosts: only with a job there, and inside it (pam_slurm_adopt)."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.packages import slurm_packages
from clusterwright.provision.resources import Derived, Resource, RoleContext

DEPENDENCIES = ("ssh", "slurm")

PATH = "/etc/pam.d/sshd"


@alike
def pam_slurm_adopt(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return pam_slurm_adopt's packages and sshd's PAM file on compute hosts; nothing on other hosts.

    The file keeps the host's own lines. With `security.login: free` it loses ours, and no packages are installed.
    """
    if host.group.role != "compute":
        return ()
    login = cluster.security.login
    packages = slurm_packages(cluster, "pam_slurm_adopt") if login == "jobs-only" else ()
    params = {"login": login, "users": always_admitted(cluster)}
    return (*packages, Derived(path=PATH, program="sshd_pam", header=context.header(), params=params))


def always_admitted(cluster: Cluster) -> list[str]:
    """Return who logs in to compute hosts without a job: root, Clusterwright's own login, and admins."""
    admins = {name for name, user in cluster.users.items() if user.admin}
    return sorted({"root", cluster.ssh.user, *admins})
