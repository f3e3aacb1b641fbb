"""Controllers, ports, folders and accounts of the daemons."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import Setting, SlurmConf, hosts_of
from clusterwright.config.slurm_rules.registry import Problem, Severity, remove, rule
from clusterwright.i18n import _

_CTLD_PORT, _SLURMD_PORT, _DBD_PORT = 6817, 6818, 6819  # slurm.conf(5)
_VOLATILE = ("tmp", "var/tmp", "dev/shm", "run", "var/run")


def controller_name(setting: Setting) -> str:
    """Return the host of SlurmctldHost=name(address)."""
    return setting.value.partition("(")[0].strip()


def controller_address(setting: Setting) -> str:
    """Return the address of SlurmctldHost=name(address), or the name."""
    return setting.value.partition("(")[2].rstrip(") ") or controller_name(setting)


@rule(
    Severity.ERROR,
    "slurm.conf(5), SlurmctldHost",
    wrong="ClusterName=c\nSlurmUser=slurm\nReturnToService=2\nNodeName=n1\n"
    "PartitionName=p Nodes=n1 Default=YES MaxTime=60",
    correct="ClusterName=c\nSlurmctldHost=m\nSlurmUser=slurm\nReturnToService=2\nNodeName=n1\n"
    "PartitionName=p Nodes=n1 Default=YES MaxTime=60",
)
def controller_missing(conf: SlurmConf) -> Iterator[Problem]:
    """slurm.conf has a SlurmctldHost: Slurm's daemons do not start without one."""
    if conf.is_complete and not conf.controllers:
        yield Problem(conf.top("SlurmctldHost"), _("there is no SlurmctldHost"), "SlurmctldHost=head")


@rule(
    Severity.ERROR,
    "slurm.conf(5), SlurmctldHost",
    wrong="SlurmctldHost=a\nSlurmctldHost=a",
    correct="SlurmctldHost=a\nSlurmctldHost=b",
)
def controller_repeated(conf: SlurmConf) -> Iterator[Problem]:
    """A host has one SlurmctldHost line: Slurm's daemons do not start with a duplicate."""
    names = [controller_name(setting) for setting in conf.controllers]
    for index, setting in enumerate(conf.controllers):
        if names[index] in names[:index]:
            yield Problem(setting, _("{host} is a controller already", host=names[index]), remove(setting))


@rule(
    Severity.WARNING,
    "slurm.conf(5), SlurmctldHost",
    wrong="SlurmctldHost=a\nControlMachine=a",
    correct="SlurmctldHost=a",
)
def control_machine_ignored(conf: SlurmConf) -> Iterator[Problem]:
    """SlurmctldHost replaces ControlMachine, ControlAddr, BackupController and BackupAddr, which Slurm ignores then."""
    for key in ("ControlMachine", "ControlAddr", "BackupController", "BackupAddr"):
        setting = conf.line_of(key)
        if setting and conf.line_of("SlurmctldHost"):
            message = _("Slurm ignores {second} beside {first}", first="SlurmctldHost", second=key)
            yield Problem(setting, message, remove(setting))


@rule(
    Severity.ERROR,
    "slurm.conf(5), SlurmctldHost",
    wrong="SlurmctldHost=head\n--- unresolved\nhead",
    correct="SlurmctldHost=head",
)
def controller_unresolved(conf: SlurmConf) -> Iterator[Problem]:
    """The name of each controller, or its address, resolves to an address."""
    for setting in conf.controllers:
        if controller_name(setting) in conf.unresolved:
            name = controller_name(setting)
            message = _("the name {host} does not resolve to an address", host=name)
            yield Problem(setting, message, f"SlurmctldHost={name}(10.0.0.1)")


def _range(text: str, default: int) -> range:
    match = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", text.strip())
    return range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(default, default + 1)


@rule(
    Severity.ERROR,
    "slurm.conf(5), SlurmdPort",
    wrong="SlurmctldHost=n1\nSlurmctldPort=6817\nSlurmdPort=6817\nNodeName=n[1-2]",
    correct="SlurmctldHost=n1\nSlurmctldPort=6817\nSlurmdPort=6818\nNodeName=n[1-2]",
)
def ports_equal(conf: SlurmConf) -> Iterator[Problem]:
    """SlurmdPort is not a SlurmctldPort where a controller is a node too: the second daemon does not start."""
    setting = conf.line_of("SlurmdPort") or conf.line_of("SlurmctldPort")
    shared = [c for c in conf.controllers if controller_name(c) in conf.hosts]
    port = conf.number("SlurmdPort", _SLURMD_PORT)
    if setting and shared and port in _range(conf.get("SlurmctldPort"), _CTLD_PORT):
        message = _(
            "slurmctld and slurmd of {host} use port {port}", host=controller_name(shared[0]), port=port
        )
        yield Problem(setting, message, f"SlurmdPort={port + 1}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), SrunPortRange",
    wrong="SrunPortRange=60001",
    correct="SrunPortRange=60001-63000",
)
def srun_ports_invalid(conf: SlurmConf) -> Iterator[Problem]:
    """SrunPortRange is FIRST-LAST; Slurm ignores another text, and srun uses any port."""
    setting = conf.line_of("SrunPortRange")
    if setting and len(_range(setting.value, 0)) < 2:
        message = _("SrunPortRange={value} is no range: Slurm ignores it", value=setting.value)
        yield Problem(setting, message, "SrunPortRange=60001-63000")


@rule(
    Severity.WARNING,
    "slurm.conf(5), SrunPortRange",
    wrong="SrunPortRange=6000-7000",
    correct="SrunPortRange=60001-63000",
)
def srun_ports_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """SrunPortRange has no port of slurmctld, slurmd or slurmdbd."""
    setting = conf.line_of("SrunPortRange")
    daemons = (
        ("SlurmctldPort", _range(conf.get("SlurmctldPort"), _CTLD_PORT)[0]),
        ("SlurmdPort", conf.number("SlurmdPort", _SLURMD_PORT)),
        ("AccountingStoragePort", conf.number("AccountingStoragePort", _DBD_PORT)),
    )
    conflicts = [f"{key}={port}" for key, port in daemons if setting and port in _range(setting.value, 0)]
    if setting and conflicts and len(_range(setting.value, 0)) > 1:
        message = _("SrunPortRange={value} contains {port}", value=setting.value, port=conflicts[0])
        yield Problem(setting, message, "SrunPortRange=60001-63000")


@rule(
    Severity.WARNING,
    "slurm.conf(5), SrunPortRange",
    wrong="SrunPortRange=60001-60005\nNodeName=n[1-200]",
    correct="SrunPortRange=60001-63000\nNodeName=n[1-200]",
)
def srun_ports_few(conf: SlurmConf) -> Iterator[Problem]:
    """SrunPortRange has the ports of an srun over all nodes: 4, and 2 for each 48 nodes beyond the first 48."""
    setting = conf.line_of("SrunPortRange")
    count = len(_range(setting.value, 0)) if setting else 0
    needed = 4 + 2 * max(0, -(-(len(conf.hosts) - 48) // 48))
    if setting and conf.nodes and 1 < count < needed:
        message = _("{count} ports, but an srun over all nodes needs {needed}", count=count, needed=needed)
        yield Problem(setting, message, "SrunPortRange=60001-63000")


@rule(
    Severity.WARNING,
    "slurm.conf(5), StateSaveLocation",
    wrong="StateSaveLocation=/tmp",
    correct="StateSaveLocation=/var/spool/slurmctld",
)
def state_volatile(conf: SlurmConf) -> Iterator[Problem]:
    """StateSaveLocation survives a reboot: it has all jobs, and a reliable file system is recommended."""
    setting = conf.line_of("StateSaveLocation")
    if setting and any(f"{setting.value}/".startswith(f"/{folder}/") for folder in _VOLATILE):
        message = _("a reboot can empty {folder}, and with it the queue", folder=setting.value)
        yield Problem(setting, message, "StateSaveLocation=/var/spool/slurmctld")


@rule(
    Severity.WARNING,
    "slurm.conf(5), SlurmdSpoolDir",
    wrong="StateSaveLocation=/var/spool/slurm\nSlurmdSpoolDir=/var/spool/slurm",
    correct="StateSaveLocation=/var/spool/slurmctld\nSlurmdSpoolDir=/var/spool/slurmd",
)
def state_in_spool(conf: SlurmConf) -> Iterator[Problem]:
    """StateSaveLocation, of slurmctld, and SlurmdSpoolDir, local to each node, are different folders."""
    setting = conf.line_of("StateSaveLocation")
    if setting and setting.value.rstrip("/") == conf.get("SlurmdSpoolDir").rstrip("/"):
        message = _("StateSaveLocation and SlurmdSpoolDir are both {folder}", folder=setting.value)
        free = "SlurmdSpoolDir=/var/spool/slurmd"
        is_free = setting.value.rstrip("/") != "/var/spool/slurmd"
        yield Problem(setting, message, free if is_free else "StateSaveLocation=/var/spool/slurmctld")


@rule(
    Severity.WARNING,
    "slurm.conf(5), SlurmUser",
    wrong="SlurmUser=root",
    correct="SlurmUser=slurm",
)
def controller_runs_as_root(conf: SlurmConf) -> Iterator[Problem]:
    """SlurmUser is not root, its default; the manual recommends another account for security."""
    setting = conf.line_of("SlurmUser")
    if (setting and setting.value in ("root", "0")) or (conf.is_complete and not setting):
        yield Problem(setting or conf.top("SlurmUser"), _("slurmctld runs as root"), "SlurmUser=slurm")


@rule(
    Severity.ERROR,
    "slurm.conf(5), SlurmdSpoolDir",
    wrong="SlurmdSpoolDir=/var/spool/slurmd\nNodeName=v[1-2] NodeHostname=h1 Port=[17001-17002]",
    correct="SlurmdSpoolDir=/var/spool/slurmd.%n\nNodeName=v[1-2] NodeHostname=h1 Port=[17001-17002]",
)
def spool_shared(conf: SlurmConf) -> Iterator[Problem]:
    """SlurmdSpoolDir has %n where several nodes are one host, so that each slurmd has a folder of its own."""
    hosts: dict[str, str] = {}
    for node in conf.nodes:
        for name in node.hosts if len(hosts_of(node.get("NodeHostname"))) == 1 and node.has("Port") else ():
            neighbor = hosts.setdefault(node.get("NodeHostname"), name)
            if neighbor != name and "%n" not in conf.get("SlurmdSpoolDir"):
                location = conf.line_of("SlurmdSpoolDir") or node
                message = _(
                    "nodes {first} and {second} are one host and share SlurmdSpoolDir",
                    first=neighbor,
                    second=name,
                )
                yield Problem(location, message, "SlurmdSpoolDir=/var/spool/slurmd.%n")
                return


@rule(
    Severity.WARNING,
    "slurm.conf(5), AuthType",
    wrong="AuthType=auth/none",
    correct="AuthType=auth/munge",
)
def authentication_off(conf: SlurmConf) -> Iterator[Problem]:
    """AuthType is auth/munge or auth/slurm; with auth/none any user can act as any other."""
    for kind in ("slurm.conf", "slurmdbd.conf"):
        setting = conf.line_of("AuthType", kind)
        if setting and conf.plugin("AuthType", "", kind) == "none":
            yield Problem(setting, _("any user can act as any other"), "AuthType=auth/munge")


@rule(
    Severity.WARNING,
    "slurm.conf(5), TreeWidth",
    wrong="TreeWidth=0",
    correct="TreeWidth=16",
)
def tree_width_zero(conf: SlurmConf) -> Iterator[Problem]:
    """TreeWidth is at least 1; Slurm replaces 0 by its default."""
    setting = conf.line_of("TreeWidth")
    if setting and setting.value == "0":
        yield Problem(setting, _("TreeWidth=0 is invalid; Slurm uses its default"), "TreeWidth=16")
