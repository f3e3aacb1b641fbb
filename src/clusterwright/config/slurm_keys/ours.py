"""Keys of slurm.conf that the cluster file decides elsewhere, and those whose words are joined with ours."""

from __future__ import annotations

_DAEMONS = ""  # no field: units, firewall, logs and folders rest on it
_NODES, _PARTITIONS = "nodes", "partitions"
_HEALTH, _ACCOUNTING, _POWER = "slurm.health", "accounting", "slurm.power_saving"

# Key in lower case -> the field that decides it. A key of ours that is not here may be set: the site's value stands.
OURS: dict[str, str] = {
    "clustername": "name",
    **dict.fromkeys(("slurmctldhost", "nodename", "downnodes", "nodeset", "include", "controlmachine"), _NODES),
    **dict.fromkeys(("controladdr", "backupcontroller", "backupaddr"), _NODES),
    "grestypes": "nodes.NAME.gpus",
    "partitionname": _PARTITIONS,
    "srunportrange": "slurm.ports",
    "slurmdtimeout": "slurm.node_timeout",
    "killwait": "slurm.kill_wait",
    **dict.fromkeys(("topologyplugin", "topologyparam"), "slurm.topology"),
    **dict.fromkeys(
        (
            "slurmuser", "slurmctldport", "slurmdport", "statesavelocation", "slurmdspooldir", "slurmctldpidfile",
            "slurmdpidfile", "slurmctldlogfile", "slurmdlogfile", "authtype", "credtype", "cryptotype", "plugindir",
            "proctracktype", "selecttype", "schedulertype", "slurmduser",
        ),
        _DAEMONS,
    ),
    **dict.fromkeys(
        (
            "prolog", "epilog", "prologflags", "healthcheckprogram", "unkillablestepprogram", "taskprolog",
        ),
        _HEALTH,
    ),
    **dict.fromkeys(
        (
            "accountingstoragetype", "accountingstoragehost", "accountingstorageport", "accountingstorageenforce",
            "accountingstoragetres", "accountingstoragepass", "accountingstoragebackuphost", "jobacctgathertype",
            "prioritytype",
        ),
        _ACCOUNTING,
    ),
    "prioritydecayhalflife": "accounting.half_life",
    **dict.fromkeys(("preempttype", "preemptmode"), "qos.NAME.preempts and qos.NAME.when_preempted"),
    **dict.fromkeys(
        ("suspendtime", "suspendprogram", "resumeprogram", "resumefailprogram", "resumetimeout", "suspendtimeout",
         "suspendexcnodes"),
        _POWER,
    ),
}  # fmt: skip

# Lists of words: what the site writes is joined with ours, and its word wins over ours of the same name.
WORD_LISTS = frozenset(
    {
        "schedulerparameters", "slurmctldparameters", "slurmdparameters", "launchparameters", "preemptparameters",
        "communicationparameters", "priorityflags", "authinfo", "debugflags", "accountingstoreflags",
        "propagateresourcelimitsexcept",
    }
)  # fmt: skip
