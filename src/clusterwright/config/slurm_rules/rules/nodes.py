"""Nodes: names, addresses, cores and memory."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import ConfEntry, Setting, SlurmConf, hosts_of, parse_number
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

# NodeName's State: those of slurm.conf(5), and those that slurmctld accepts as well.
_STATES = (
    "cloud",
    "down",
    "drain",
    "fail",
    "failing",
    "future",
    "unknown",
    "idle",
    "busy",
    "allocated",
    "external",
)


_MIB = {"M": 1, "G": 1024, "T": 1024**2}
_SIZES = (
    "RealMemory",
    "MemSpecLimit",
    "TmpDisk",
    "DefMemPerCPU",
    "DefMemPerNode",
    "DefMemPerGPU",
    "MaxMemPerCPU",
    "MaxMemPerNode",
)


@rule(
    Severity.ERROR,
    "slurm.conf(5), NodeName",
    wrong="NodeName=n[1-4] CPUs=8\nNodeName=n4 CPUs=16",
    correct="NodeName=n[1-3] CPUs=8\nNodeName=n4 CPUs=16",
)
def node_repeated(conf: SlurmConf) -> Iterator[Problem]:
    """A node is in one NodeName line only; slurmctld and slurmd do not start with a duplicated NodeName."""
    former: dict[str, ConfEntry] = {}
    for node in conf.nodes:
        repeated = [host for host in node.hosts if host in former]
        if repeated:
            values = {"node": repeated[0], "line": former[repeated[0]].line}
            message = _("node {node} is also in the NodeName line {line}", **values)
            yield Problem(
                node, message, f"NodeName={','.join(h for h in node.hosts if h not in former) or '...'}"
            )
        former |= dict.fromkeys(node.hosts, node)


@rule(
    Severity.WARNING,
    "slurm.conf(5), NodeHostname",
    wrong="NodeName=n1 NodeHostname=h1\nNodeName=n2 NodeHostname=h1",
    correct="SlurmdSpoolDir=/var/spool/slurmd.%n\nNodeName=n1 NodeHostname=h1 Port=17001\n"
    "NodeName=n2 NodeHostname=h1 Port=17002",
)
def node_hostname_repeated(conf: SlurmConf) -> Iterator[Problem]:
    """A host runs one slurmd; several nodes on it need a Port each, and a Slurm built for multiple slurmd."""
    former: dict[str, ConfEntry] = {}
    for node in conf.nodes:
        for host in hosts_of(node.get("NodeHostname")):
            if host in former and not node.has("Port") and former[host] is not node:
                values = {"host": host, "line": former[host].line}
                message = _(
                    "NodeHostname {host} is also in line {line}, and the nodes have no Port", **values
                )
                yield Problem(node, message, f"NodeName={node.name} NodeHostname={host} Port=17001")
                break
            former.setdefault(host, node)


@rule(
    Severity.ERROR,
    "slurm.conf(5), NodeAddr",
    wrong="NodeName=n[1-4] NodeAddr=10.0.0.[1-3]",
    correct="NodeName=n[1-4] NodeAddr=10.0.0.[1-4]",
)
def node_address_count(conf: SlurmConf) -> Iterator[Problem]:
    """NodeAddr, NodeHostname, BcastAddr and Port of a line have as many values as NodeName, or one."""
    for node in conf.nodes:
        for key in ("NodeAddr", "NodeHostname", "BcastAddr"):
            count = len(hosts_of(node.get(key)))
            if count > 1 and count != len(node.hosts):
                values = {"key": key, "count": count, "nodes": len(node.hosts)}
                message = _("{key} has {count} values for {nodes} nodes", **values)
                yield Problem(node, message, f"NodeName={node.name} {key}={node.name}")


@rule(
    Severity.ERROR,
    "slurm.conf(5), NodeAddr",
    wrong="NodeName=DEFAULT NodeAddr=10.0.0.1 CPUs=8\nNodeName=n1",
    correct="NodeName=DEFAULT CPUs=8\nNodeName=n1 NodeAddr=10.0.0.1",
)
def default_node_address(conf: SlurmConf) -> Iterator[Problem]:
    """NodeName=DEFAULT has no NodeAddr, NodeHostname or BcastAddr: Slurm's daemons do not start with it."""
    for entry in conf.entries_of("NodeName"):
        for key in ("NodeAddr", "NodeHostname", "BcastAddr"):
            if entry.name.upper() == "DEFAULT" and key.lower() in entry.explicit:
                message = _("{key} is not allowed with NodeName=DEFAULT", key=key)
                yield Problem(entry, message, f"NodeName=n1 {key}={entry.get(key)}")


@rule(
    Severity.ERROR,
    "slurm.conf(5), NodeName",
    wrong="NodeName=ALL CPUs=8",
    correct="NodeName=n[1-4] CPUs=8",
)
def node_name_reserved(conf: SlurmConf) -> Iterator[Problem]:
    """No node is named ALL, which means all nodes: Slurm's daemons do not start with it."""
    for node in conf.nodes:
        if node.name.upper() == "ALL":
            yield Problem(node, _("ALL is reserved and is no name of a node"), "NodeName=n[1-4]")


@rule(
    Severity.WARNING,
    "slurm.conf(5), CPUs",
    wrong="NodeName=n1 CPUs=48 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2",
    correct="NodeName=n1 CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2",
)
def cpus_mismatch(conf: SlurmConf) -> Iterator[Problem]:
    """CPUs is the number of sockets, cores or threads of the same line; Slurm replaces another number."""
    for node in conf.nodes:
        sockets = node.count("Boards", 1) * node.count("SocketsPerBoard", 1)
        sockets = sockets if node.has("SocketsPerBoard") else node.count("Sockets", sockets)
        cores = sockets * node.count("CoresPerSocket", 1)
        threads = cores * node.count("ThreadsPerCore", 1)
        cpus = node.count("CPUs", node.count("Procs"))
        has_sockets = node.has("Sockets") or node.has("SocketsPerBoard")  # else Slurm derives them from CPUs
        if cpus and has_sockets and cpus not in (sockets, cores, threads):
            values = {"cpus": cpus, "sockets": sockets, "cores": cores, "threads": threads}
            message = _(
                "CPUs={cpus}, but the line has {sockets} sockets, {cores} cores, {threads} threads", **values
            )
            yield Problem(node, message, f"NodeName={node.name} CPUs={threads}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), SocketsPerBoard",
    wrong="NodeName=n1 Sockets=2 SocketsPerBoard=2 CoresPerSocket=8",
    correct="NodeName=n1 Sockets=2 CoresPerSocket=8",
)
def sockets_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """A line has Sockets or SocketsPerBoard; with both Slurm logs an error and uses SocketsPerBoard."""
    for node in conf.nodes:
        if node.has("Sockets") and node.has("SocketsPerBoard"):
            message = _("Slurm ignores Sockets beside SocketsPerBoard")
            yield Problem(
                node, message, f"NodeName={node.name} SocketsPerBoard={node.get('SocketsPerBoard')}"
            )


@rule(
    Severity.WARNING,
    "slurm.conf(5), RealMemory",
    wrong="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nNodeName=n1 CPUs=8\n"
    "PartitionName=p Nodes=n1 DefMemPerCPU=100",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nNodeName=n1 CPUs=8 RealMemory=64000\n"
    "PartitionName=p Nodes=n1 DefMemPerCPU=100",
)
def memory_missing(conf: SlurmConf) -> Iterator[Problem]:
    """A node has RealMemory where memory is consumable; the default is 1 MiB, which no memory request fits."""
    if not conf.consumes_memory:
        return
    for node in conf.nodes:
        if not node.has("RealMemory") and "future" not in node.get("State").lower():
            message = _("memory is consumable, but the line has no RealMemory: the default is 1 MiB")
            yield Problem(node, message, f"NodeName={node.name} RealMemory=64000  # slurmd -C")


@rule(
    Severity.ERROR,
    "slurm.conf(5), RealMemory",
    wrong="NodeName=n1 RealMemory=64G",
    correct="NodeName=n1 RealMemory=65536",
)
def memory_unit(conf: SlurmConf) -> Iterator[Problem]:
    """Sizes of memory and disk are numbers of MiB without a unit: Slurm's daemons do not start with `64G`."""
    places: list[tuple[ConfEntry | Setting, str, str]] = [
        (entry, key, entry.get(key)) for entry in (*conf.nodes, *conf.partitions) for key in _SIZES
    ]
    places += [(setting, setting.key, setting.value) for setting in map(conf.line_of, _SIZES) if setting]
    for location, key, value in places:
        size = value.upper().removesuffix("B")
        number = parse_number(size[:-1], -1)
        if number >= 0 and size[-1:] in _MIB:
            message = _("{key}={value} is not a number of MiB", key=key, value=value)
            yield Problem(location, message, f"{key}={number * _MIB[size[-1]]}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), MemSpecLimit",
    wrong="NodeName=n1 RealMemory=64000 MemSpecLimit=64000",
    correct="NodeName=n1 RealMemory=64000 MemSpecLimit=4000",
)
def reserved_memory_excess(conf: SlurmConf) -> Iterator[Problem]:
    """MemSpecLimit is less than RealMemory; otherwise Slurm sets it to 0 and reserves nothing."""
    for node in conf.nodes:
        limit, memory = node.count("MemSpecLimit"), node.count("RealMemory", 1)
        if limit and limit >= memory:
            values = {"limit": limit, "memory": memory}
            message = _(
                "MemSpecLimit={limit} is not less than RealMemory={memory}: Slurm ignores it", **values
            )
            yield Problem(
                node, message, f"NodeName={node.name} RealMemory={memory} MemSpecLimit={memory // 16}"
            )


@rule(
    Severity.WARNING,
    "slurm.conf(5), CoreSpecCount",
    wrong="NodeName=n1 Sockets=1 CoresPerSocket=8 CoreSpecCount=8",
    correct="NodeName=n1 Sockets=1 CoresPerSocket=8 CoreSpecCount=1",
)
def reserved_cores_excess(conf: SlurmConf) -> Iterator[Problem]:
    """CoreSpecCount is less than the node's cores; otherwise Slurm sets it to 1."""
    for node in conf.nodes:
        cores = node.count("Sockets", 1) * node.count("CoresPerSocket", 1)
        if node.has("CoresPerSocket") and node.count("CoreSpecCount") >= cores:
            values = {"count": node.count("CoreSpecCount"), "cores": cores}
            message = _("CoreSpecCount={count}, but the node has {cores} cores", **values)
            yield Problem(node, message, f"NodeName={node.name} CoreSpecCount=1")


@rule(
    Severity.WARNING,
    "slurm.conf(5), CPUSpecList",
    wrong="NodeName=n1 Sockets=1 CoresPerSocket=8 CoreSpecCount=1 CPUSpecList=0",
    correct="NodeName=n1 Sockets=1 CoresPerSocket=8 CPUSpecList=0",
)
def reserved_cores_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """A line has CoreSpecCount or CPUSpecList; with both Slurm ignores CoreSpecCount."""
    for node in conf.nodes:
        if node.count("CoreSpecCount") and node.has("CPUSpecList"):
            message = _("Slurm ignores CoreSpecCount beside CPUSpecList")
            yield Problem(node, message, f"NodeName={node.name} CPUSpecList={node.get('CPUSpecList')}")


@rule(
    Severity.ERROR,
    "slurm.conf(5), State of NodeName",
    wrong="NodeName=n1 CPUs=8 State=UP",
    correct="NodeName=n1 CPUs=8 State=UNKNOWN",
)
def node_state_invalid(conf: SlurmConf) -> Iterator[Problem]:
    """State of a NodeName line is CLOUD, DOWN, DRAIN, FAIL, FAILING, FUTURE or UNKNOWN; UP is of partitions."""
    for node in conf.nodes:
        state = node.get("State")
        if state and not state.lower().startswith(_STATES):
            message = _("{state} is no state of a NodeName line", state=state)
            yield Problem(node, message, f"NodeName={node.name} State=UNKNOWN")


@rule(
    Severity.WARNING,
    "slurm.conf(5), PartitionName",
    wrong="NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes=n[1-3]",
    correct="NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes=n[1-4]",
)
def node_without_partition(conf: SlurmConf) -> Iterator[Problem]:
    """Every node is in a partition: jobs run on nodes of partitions only."""
    in_partitions = {host for partition in conf.partitions for host in conf.hosts_in(partition)}
    for node in conf.nodes if conf.partitions and not conf.has_unread else ():
        outside = [host for host in node.hosts if host not in in_partitions]
        if outside and "future" not in node.get("State").lower():
            message = _("node {node} is in no partition: no job runs on it", node=outside[0])
            nodes = ",".join((conf.partitions[0].get("Nodes"), node.name)).strip(",")
            yield Problem(node, message, f"PartitionName={conf.partitions[0].name} Nodes={nodes}")


@rule(
    Severity.ERROR,
    "slurm.conf(5), NodeSet",
    wrong="NodeName=n1 Features=gpu\nNodeSet=n1 Feature=gpu",
    correct="NodeName=n1 Features=gpu\nNodeSet=gpus Feature=gpu",
)
def nodeset_is_node(conf: SlurmConf) -> Iterator[Problem]:
    """A NodeSet has a name that no node has: from 24.11 on, Slurm's daemons do not start otherwise."""
    for entry in conf.entries_of("NodeSet"):
        if entry.name in conf.hosts:
            message = _("NodeSet {name} has the name of a node", name=entry.name)
            yield Problem(
                entry, message, f"NodeSet={entry.name}-set Nodes={entry.get('Nodes') or entry.name}"
            )


@rule(
    Severity.WARNING,
    "slurm.conf(5), Feature of NodeSet",
    wrong="NodeName=n1 Features=a100\nNodeSet=gpus Feature=h100",
    correct="NodeName=n1 Features=a100\nNodeSet=gpus Feature=a100",
)
def nodeset_feature_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """A NodeSet's Feature is a feature of a node, or the set is empty."""
    for entry in conf.entries_of("NodeSet"):
        if conf.nodes and not conf.has_unread and entry.get("Feature") and not conf.nodesets[entry.name]:
            message = _(
                "no node has the feature {feature}: the NodeSet is empty", feature=entry.get("Feature")
            )
            yield Problem(entry, message, f"NodeName={conf.nodes[0].name} Features={entry.get('Feature')}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), DownNodes",
    wrong="NodeName=n[1-4] CPUs=8\nDownNodes=n5 State=DOWN",
    correct="NodeName=n[1-4] CPUs=8\nDownNodes=n4 State=DOWN",
)
def down_node_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """DownNodes names nodes of NodeName lines."""
    for entry in conf.entries_of("DownNodes"):
        unknown = [host for host in entry.hosts if host not in conf.hosts and host.upper() != "DEFAULT"]
        if unknown and conf.nodes and not conf.has_unread:
            message = _("{node} is not in a NodeName line", node=unknown[0])
            yield Problem(entry, message, f"DownNodes={conf.nodes[0].name}")
