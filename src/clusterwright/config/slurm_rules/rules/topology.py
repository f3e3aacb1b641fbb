"""topology.conf and topology.yaml: switches and blocks against the plug-in and the nodes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import ConfEntry, SlurmConf, hosts_of, parse_number
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_FILE = "topology.conf"
_TREE = "TopologyPlugin=topology/tree\n"
_KINDS = {"tree": "SwitchName", "block": "BlockName"}


def _switches(conf: SlurmConf) -> tuple[ConfEntry, ...]:
    return conf.entries_of("SwitchName", _FILE)


def _entries(conf: SlurmConf) -> tuple[ConfEntry, ...]:
    return (*_switches(conf), *conf.entries_of("BlockName", _FILE))


def _is_plain(names: tuple[str, ...]) -> bool:
    """Return whether all names are names, without the functions of hostlists such as feature{gpu}."""
    return not any("{" in name for name in names)


@rule(
    Severity.WARNING,
    "slurm.conf(5), TopologyPlugin",
    wrong=f"ClusterName=c\n--- {_FILE}\nSwitchName=s Nodes=n[1-4]",
    correct=f"{_TREE}--- {_FILE}\nSwitchName=s Nodes=n[1-4]",
)
def topology_unused(conf: SlurmConf) -> Iterator[Problem]:
    """topology.conf needs a TopologyPlugin; with the default, topology/flat, Slurm does not read it."""
    entries = _entries(conf)
    if (
        "slurm.conf" in conf.files
        and entries
        and "topology.yaml" not in conf.files
        and not conf.has_unread
        and conf.plugin("TopologyPlugin", "flat") in ("flat", "default", "none")
    ):
        kind = "tree" if entries[0].key == "SwitchName" else "block"
        message = _("Slurm does not read topology.conf: TopologyPlugin is topology/flat")
        yield Problem(entries[0], message, f"TopologyPlugin=topology/{kind}")


@rule(
    Severity.ERROR,
    "topology.conf(5), SwitchName",
    wrong=f"TopologyPlugin=topology/block\n--- {_FILE}\nSwitchName=s Nodes=n[1-4]",
    correct=f"{_TREE}--- {_FILE}\nSwitchName=s Nodes=n[1-4]",
)
def topology_kind_differs(conf: SlurmConf) -> Iterator[Problem]:
    """topology/tree has SwitchName lines and topology/block BlockName lines: slurmctld does not start otherwise."""
    key = _KINDS.get(conf.plugin("TopologyPlugin", ""))
    for entry in _entries(conf)[:1] if key and "topology.yaml" not in conf.files else ():
        if entry.key != key:
            message = _("topology/{plugin} needs {key}", plugin=conf.plugin("TopologyPlugin", ""), key=key)
            yield Problem(entry, message, f"{key}={entry.name} Nodes={entry.get('Nodes')}")


@rule(
    Severity.ERROR,
    "topology.conf(5), DESCRIPTION",
    wrong=f"{_TREE}--- folder",
    correct=f"{_TREE}--- {_FILE}\nSwitchName=s Nodes=n[1-4]\n--- folder",
)
def topology_file_missing(conf: SlurmConf) -> Iterator[Problem]:
    """topology/tree and topology/block have a topology.conf or topology.yaml: slurmctld does not start otherwise."""
    setting = conf.line_of("TopologyPlugin")
    if (
        setting
        and conf.is_folder
        and conf.plugin("TopologyPlugin", "") in _KINDS
        and not {_FILE, "topology.yaml"} & conf.files.keys()
    ):
        message = _("the folder has no topology.conf or topology.yaml")
        yield Problem(setting, message, "SwitchName=s1 Nodes=n[1-4]  # topology.conf")


@rule(
    Severity.ERROR,
    "topology.conf(5), SwitchName",
    wrong=f"{_TREE}--- {_FILE}\nSwitchName=s Nodes=n[1-2]\nSwitchName=s Nodes=n[3-4]",
    correct=f"{_TREE}--- {_FILE}\nSwitchName=s Nodes=n[1-4]",
)
def switch_repeated(conf: SlurmConf) -> Iterator[Problem]:
    """A switch or block has one line: slurmctld does not start with a name that is defined twice."""
    used: set[tuple[str, str]] = set()
    for entry in _entries(conf) if "topology.yaml" not in conf.files else ():
        if (entry.key, entry.name) in used:
            message = _("{name} has a line above", name=entry.name)
            yield Problem(entry, message, f"{entry.key}={entry.name}-2 Nodes={entry.get('Nodes')}")
        used.add((entry.key, entry.name))


@rule(
    Severity.WARNING,
    "topology.conf(5), Nodes",
    wrong=f"{_TREE}NodeName=n[1-4]\n--- {_FILE}\nSwitchName=s Nodes=n[1-5]",
    correct=f"{_TREE}NodeName=n[1-4]\n--- {_FILE}\nSwitchName=s Nodes=n[1-4]",
)
def topology_node_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """Nodes of switches and blocks are nodes of slurm.conf."""
    for entry in _entries(conf) if conf.nodes and not conf.has_unread else ():
        names = hosts_of(entry.get("Nodes"))
        unknown = [name for name in names if name not in conf.hosts and name.upper() != "ALL"]
        if unknown and _is_plain(names):
            message = _("{name} names {node}, which is in no NodeName line", name=entry.name, node=unknown[0])
            yield Problem(entry, message, conf.missing_node_line(unknown[0]))


@rule(
    Severity.WARNING,
    "topology.conf(5), topology/tree",
    wrong=f"{_TREE}NodeName=n[1-4]\n--- {_FILE}\nSwitchName=s Nodes=n[1-3]",
    correct=f"{_TREE}NodeName=n[1-4]\n--- {_FILE}\nSwitchName=s Nodes=n[1-4]",
)
def node_without_switch(conf: SlurmConf) -> Iterator[Problem]:
    """Each node is connected to a switch; jobs over switches cannot use one that is not."""
    if conf.plugin("TopologyPlugin", "") != "tree" or not _switches(conf) or conf.has_unread:
        return
    names = {name for switch in _switches(conf) for name in hosts_of(switch.get("Nodes"))}
    outside = [host for host in conf.hosts if host not in names]
    if outside and _is_plain(tuple(names)) and "ALL" not in {name.upper() for name in names}:
        node = conf.hosts[outside[0]]
        message = _("node {node} is connected to no switch", node=outside[0])
        yield Problem(node, message, f"SwitchName={_switches(conf)[0].name} Nodes={outside[0]}")


@rule(
    Severity.ERROR,
    "topology.conf(5), Switches",
    wrong=f"{_TREE}--- {_FILE}\nSwitchName=l1 Nodes=n[1-4]\nSwitchName=top Switches=l[1-2]",
    correct=f"{_TREE}--- {_FILE}\nSwitchName=l1 Nodes=n[1-4]\nSwitchName=top Switches=l1",
)
def switch_child_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """Switches names switches with a line: slurmctld does not start otherwise."""
    names = {switch.name for switch in _switches(conf)}
    for switch in _switches(conf):
        unknown = [
            child for child in hosts_of(switch.get("Switches")) if child not in names or child == switch.name
        ]
        if unknown:
            message = _(
                "{name} names the switch {child}, which has no line", name=switch.name, child=unknown[0]
            )
            yield Problem(switch, message, f"SwitchName={unknown[0]} Nodes=...")


@rule(
    Severity.WARNING,
    "topology.conf(5), topology/tree",
    wrong=f"{_TREE}--- {_FILE}\nSwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n[3-4]",
    correct=f"{_TREE}--- {_FILE}\nSwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n[3-4]\n"
    "SwitchName=top Switches=l[1-2]",
)
def switches_unconnected(conf: SlurmConf) -> Iterator[Problem]:
    """All switches are below one; jobs span only nodes that switches connect."""
    children = {child for switch in _switches(conf) for child in hosts_of(switch.get("Switches"))}
    roots = [switch for switch in _switches(conf) if switch.name not in children]
    if (
        len(roots) > 1
        and len({switch.name for switch in roots}) == len(roots)
        and "topology.yaml" not in conf.files
    ):
        values = {"first": roots[0].name, "second": roots[1].name}
        message = _("no switch connects {first} and {second}: no job spans them", **values)
        fix = f"SwitchName=top Switches={','.join(root.name for root in roots)}"
        yield Problem(roots[1], message, fix)


@rule(
    Severity.ERROR,
    "topology.conf(5), BlockSizes",
    wrong=f"TopologyPlugin=topology/block\n--- {_FILE}\nBlockName=b Nodes=n[1-4]\nBlockSizes=4,12",
    correct=f"TopologyPlugin=topology/block\n--- {_FILE}\nBlockName=b Nodes=n[1-4]\nBlockSizes=4,8",
)
def block_sizes_invalid(conf: SlurmConf) -> Iterator[Problem]:
    """BlockSizes are powers of two of the first: slurmctld does not start otherwise."""
    setting = conf.line_of("BlockSizes", _FILE)
    sizes = [parse_number(item) for item in setting.items] if setting else []
    factors = [size / sizes[0] if sizes[0] else 0 for size in sizes]
    if setting and not all(factor in {2.0**power for power in range(16)} for factor in factors):
        message = _("BlockSizes={value} are not powers of two of the first", value=setting.value)
        yield Problem(setting, message, f"BlockSizes={sizes[0] or 4},{2 * (sizes[0] or 4)}")


@rule(
    Severity.WARNING,
    "topology.yaml(5), DESCRIPTION",
    wrong=f"{_TREE}--- {_FILE}\nSwitchName=s Nodes=n1\n--- topology.yaml\n- topology: t\n  cluster_default: true\n"
    "  tree:\n    switches:\n      - switch: s\n        nodes: n1",
    correct=f"{_TREE}--- {_FILE}\nSwitchName=s Nodes=n1",
)
def topology_files_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """The folder has topology.yaml or topology.conf; beside topology.yaml Slurm ignores topology.conf."""
    if {_FILE, "topology.yaml"} <= conf.files.keys():
        entries = [entry for entry in _entries(conf) if entry.file == conf.files[_FILE]]
        for entry in entries[:1]:
            message = _("Slurm ignores {second} beside {first}", first="topology.yaml", second=_FILE)
            yield Problem(entry, message, f"{entry.key}={entry.name}  # topology.yaml")
