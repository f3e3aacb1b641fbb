"""Slurm: slurmctld on the first control host, slurmd on the compute hosts, the commands everywhere."""

from __future__ import annotations

import hashlib
import re

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.edge.bundler import trial_script
from clusterwright.provision.packages import slurm_packages
from clusterwright.provision.render.cgroup_conf import cgroup_conf
from clusterwright.provision.render.gres_conf import gres_conf
from clusterwright.provision.render.slurm_conf import slurm_conf
from clusterwright.provision.render.slurm_gentle import gentle
from clusterwright.provision.render.slurm_releases import reconfigures_by_new_process, release_of
from clusterwright.provision.render.slurm_settings import CONTROL_PORT, LOGS, MAIL_PROGRAM, SPOOL, STATE
from clusterwright.provision.render.topology_conf import topology
from clusterwright.provision.resources import Directory, File, Resource, RoleContext, Trial, Unit

DEPENDENCIES = ("base", "clock", "kernel", "munge", "slurm_account")

FOLDER = "/etc/slurm"
COMMENTS = "(?!)"  # a pattern that matches no line, for File.gentle: a reload suffices only for comments
# No Slurm release can test its file, but every command parses it first, and this one contacts no daemon.
PARSES = ("env", "SLURM_CONF={}", "scontrol", "show", "hostnames", "localhost")
LIMITS = """[Service]
# RDMA pins memory; a job inherits slurmd's limits.
LimitMEMLOCK=infinity
LimitNOFILE=1048576

# Restart after a crash.
Restart=on-failure
RestartSec=2
"""
RELOAD_BY_COMMAND = """
[Service]
# With a signal, Slurm before 23.02 keeps its partitions and sends nothing to configless hosts.
ExecReload=
ExecReload=/usr/bin/scontrol reconfigure
"""
# Its first start fails without slurmdbd.
AFTER_ACCOUNTS = """
[Unit]
After=slurmdbd.service
"""
# slurmctld, as SlurmUser, runs `MailProg -s SUBJECT ADDRESS` with the address that a user gave. Observed: mail of GNU
# mailutils executes the commands of `--exec=!COMMAND`, mailx delivers to `|COMMAND` and to files.
_MAIL = """#!/bin/sh
{header}# Sends mail to addresses only: an option, a command or a file in place of one is left out.
case ${{3-}} in "" | [!A-Za-z0-9]* | *[!A-Za-z0-9@._,+%=-]* | *,[!A-Za-z0-9]*) exit 0 ;; esac
exec mail "$1" "$2" "$3"
"""
# The packaged unit requires a slurm.conf.
NO_FILE = """
[Unit]
ConditionPathExists=
"""


def slurm(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the Slurm packages, daemon and files of the host; compute hosts in configless mode have no files."""
    files = () if fetches(cluster, host) else _files(cluster, host, context.header())
    folder = () if fetches(cluster, host) else (Directory(path=FOLDER),)
    return (
        *slurm_packages(cluster, "client"),
        *folder,
        Directory(path=LOGS, owner="slurm", group="slurm"),
        *files,
        *_daemon(cluster, host, context.header(), files),
    )


def fetches(cluster: Cluster, host: Host) -> bool:
    """Return whether the host gets its files from slurmctld: a compute host in configless mode.

    Login hosts have files: configless without slurmd needs sackd (Slurm 23.11 or later) or a DNS record.
    """
    return cluster.slurm.configless and host.group.role == "compute"


def _files(cluster: Cluster, host: Host, header: str) -> tuple[File, ...]:
    """Return the files that the daemon reads, topology included if there is one; login hosts need slurm.conf only."""
    files = [_slurm_conf(cluster, header)]
    if host.group.role == "login":
        return tuple(files)
    gentle_pattern = ".*" if reconfigures_by_new_process(release_of(cluster)) else COMMENTS
    cgroup_text = cgroup_conf(cluster, header)
    files.append(File(path=f"{FOLDER}/cgroup.conf", content=cgroup_text, cost=Cost.RESTART, gentle=COMMENTS))
    files.append(_gres_conf(cluster, host, header))
    topology_conf = topology(cluster, header)
    if topology_conf is not None:
        name, text = topology_conf
        files.append(File(path=f"{FOLDER}/{name}", content=text, cost=Cost.RESTART, gentle=gentle_pattern))
    return tuple(files)


def _slurm_conf(cluster: Cluster, header: str) -> File:
    text = slurm_conf(cluster, header)
    return File(
        path=f"{FOLDER}/slurm.conf", content=text, cost=Cost.RESTART, gentle=gentle(cluster), validate=PARSES
    )


def _gres_conf(cluster: Cluster, host: Host, header: str) -> File:
    """Return gres.conf; on a compute host only its own group's GPUs, so that other hosts' changes do not affect it.

    A changed device or type under a running job cannot be reloaded. The control host's file serves configless
    hosts.
    """
    compute = host.group.role == "compute"
    text = gres_conf(cluster, header, host.group if compute else None)
    cost = Cost.DRAIN if compute else Cost.RESTART
    return File(path=f"{FOLDER}/gres.conf", content=text, cost=cost, gentle=COMMENTS)


def _mail_program(cluster: Cluster, header: str) -> tuple[Resource, ...]:
    """Return the program that slurmctld calls to send mail; none in a lab, which has no mail."""
    if cluster.lab:
        return ()
    folder = Directory(path=MAIL_PROGRAM.rpartition("/")[0])
    return (folder, File(path=MAIL_PROGRAM, content=_MAIL.format(header=header), mode=0o755))


def _daemon(cluster: Cluster, host: Host, header: str, files: tuple[File, ...]) -> tuple[Resource, ...]:
    munge = ("file:/etc/munge/munge.key",)
    inputs = tuple(file.id for file in files) + munge
    if host.name == cluster.control.name:
        state = Directory(path=STATE, owner="slurm", group="slurm")
        return (
            *slurm_packages(cluster, "slurmctld"), state, *_mail_program(cluster, header),
            _trial("slurmctld", host, files),
            *_unit("slurmctld", header, inputs, more=_of_slurmctld(cluster, host)),
        )  # fmt: skip
    if host.group.role == "compute":
        spool = Directory(path=SPOOL, owner="slurm", group="slurm")
        packages = slurm_packages(cluster, "slurmd")
        if fetches(cluster, host):
            options = _fetching(cluster, header)
            return (*packages, spool, options, *_unit("slurmd", header, (*munge, options.id), more=NO_FILE))
        return (*packages, spool, _trial("slurmd", host, files), *_unit("slurmd", header, inputs))
    return ()


def _unit(name: str, header: str, inputs: tuple[str, ...], more: str = "") -> tuple[Resource, ...]:
    path = f"/etc/systemd/system/{name}.service.d/clusterwright.conf"
    limits = File(path=path, content=header + LIMITS + more, cost=Cost.RESTART, gentle=COMMENTS)
    return (limits, Unit(name=f"{name}.service", restart_on=(*inputs, limits.id)))


def _of_slurmctld(cluster: Cluster, host: Host) -> str:
    return RELOAD_BY_COMMAND + (AFTER_ACCOUNTS if host == cluster.accountant else "")


def _trial(daemon: str, host: Host, files: tuple[File, ...]) -> Trial:
    """Return a trial start of the host's daemon with the new files before they are installed."""
    return Trial(
        name=daemon,
        files=tuple(file.id for file in files),
        argv=("python3", "-I", "-c", trial_script(), daemon, "{}", host.name),
    )


def _fetching(cluster: Cluster, header: str) -> File:
    """Return the file of slurmd's options in configless mode.

    It has a digest of all lines of slurmctld's files whose change needs a restart, so that slurmd restarts when one
    changes. slurmctld sends other changes at a reload.
    """
    files = _files(cluster, cluster.control, header)
    restart_lines = [
        line for file in files for line in str(file.content).splitlines() if not _covered(file, line)
    ]
    digest = hashlib.sha256("\n".join(restart_lines).encode()).hexdigest()[:12]
    text = f"""{header}# Digest of fetched lines whose change needs a restart: {digest}
SLURMD_OPTIONS="--conf-server {cluster.control.name}:{CONTROL_PORT}"
"""
    return File(path=cluster.platform.path("/etc/default/slurmd"), content=text, cost=Cost.RESTART)


def _covered(file: File, line: str) -> bool:
    return not line or line.startswith("#") or bool(file.gentle and re.match(file.gentle, line))
