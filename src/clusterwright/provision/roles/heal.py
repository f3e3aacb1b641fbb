"""The self-healing loop as a unit of the control host, and its SSH connection to hosts with a key of its own."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.authorized_keys import heal_key, logs_in
from clusterwright.provision.resources import Directory, File, Resource, RoleContext, Unit
from clusterwright.provision.roles.ssh import KEYS
from clusterwright.provision.sandbox import sandbox

DEPENDENCIES = ("ssh",)

FOLDER = "/etc/clusterwright/heal"
STATE = "/var/lib/clusterwright/heal"
UNIT = "clusterwright-heal.service"
# Message of `apply` and the journal if the program is not installed on the control host: docs/guides/heal.md has the
# commands.
_ABSENT = (
    "there is no {program} here: install Clusterwright on this host, or name the program as heal.program"
)
_THREATS = (
    "Reached by: nobody; it opens no socket. Reads: Slurm's output, check results, run events and logs that "
    "users write. It may act as root on every host, by SSH and by transient units here (heal.allow limits the "
    "actions); in its own process nothing can write to /usr or /etc, load code or reach devices."
)
_TEXT = """[Unit]
Description=Fixes the cluster as far as its file allows (clusterwright)
After=network-online.target munge.service slurmctld.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStartPre=/bin/sh -c '[ -x {program} ] || {{ echo "{absent}" >&2; exit 1; }}'
ExecStart={program} heal watch --cluster {folder}/cluster.yaml --local
StateDirectory=clusterwright/heal
StateDirectoryMode=0700
UMask=0077
Restart=always
RestartSec=5
MemoryMax=1G
CPUQuota=100%
{sandbox}

[Install]
WantedBy=multi-user.target
"""
_SSH = """{header}
Host {hosts}
    User {user}
    Port {port}
    IdentityFile {folder}/key
    IdentitiesOnly yes
    # A host key is stored at the first connection; a changed key is rejected (to accept it: ssh-keygen -f
    # {state}/known_hosts -R NAME).
    StrictHostKeyChecking accept-new
    UserKnownHostsFile {state}/known_hosts
    GlobalKnownHostsFile none
"""


def heal(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the unit that repairs the cluster, with its SSH key, for the control host; for others the public key.

    Nothing if `heal.watch` is off. The key is valid from the addresses of the control host only; if the login user is
    in `users`, the role `ssh` writes it.
    """
    if not cluster.heal.watch:
        return ()
    if host.name == cluster.control.name:
        return _loop(cluster, context)
    user = logs_in(cluster)
    if user in cluster.users:
        return ()  # the role `ssh` writes the authorized_keys of this user, with heal's key
    return (
        Directory(path=KEYS),
        File(path=f"{KEYS}/{user}", content=context.header() + heal_key(cluster, context)),
    )


def _loop(cluster: Cluster, context: RoleContext) -> tuple[Resource, ...]:
    header = context.header()
    managed_hosts = [host.name for host in cluster.hosts() if host != cluster.control]
    text = context.secrets.get("heal/cluster.yaml", b"<the cluster file>\n").decode()
    key = File(
        path=f"{FOLDER}/key",
        content=context.secrets.get("heal/key", b""),
        mode=0o600,
        secret="heal/key",  # nosec B106 # noqa: S106 (its name)
    )
    file = File(path=f"{FOLDER}/cluster.yaml", content=text, mode=0o600)
    ssh = File(
        path=f"{FOLDER}/ssh_config",
        content=_SSH.format(
            header=header,
            hosts=" ".join(managed_hosts),
            folder=FOLDER,
            state=STATE,
            port=cluster.ssh.port,
            user=logs_in(cluster),
        ),
    )
    unit = File(path=f"/etc/systemd/system/{UNIT}", content=header + heal_unit(str(cluster.heal.program)))
    restart_on = (key.id, file.id, ssh.id, unit.id)
    return (
        Directory(path="/etc/clusterwright"),
        Directory(path=FOLDER, mode=0o700),
        key,
        file,
        ssh,
        unit,
        Unit(name=UNIT, restart_on=restart_on, independent=True),
    )


def heal_unit(program: str) -> str:
    """Return the text of heal's systemd unit; `program` is the path of `wright`."""
    return _TEXT.format(
        program=program,
        absent=_ABSENT.format(program=program),
        folder=FOLDER,
        sandbox=sandbox(_THREATS, RestrictAddressFamilies="AF_UNIX AF_INET AF_INET6 AF_NETLINK"),
    )
