"""gres.conf: its lines against each other, and against the nodes of slurm.conf."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from clusterwright.config.slurm_rules.conf import (
    ConfEntry,
    Setting,
    SlurmConf,
    device_files,
    gres_of,
    hosts_of,
    parse_number,
)
from clusterwright.config.slurm_rules.registry import Problem, Severity, remove, rule
from clusterwright.i18n import _

_SHARED = ("mps", "shard")
_GPU_LINE = "NodeName=n1 Name=gpu File=/dev/nvidia[0-7]"


def _lines(conf: SlurmConf) -> tuple[ConfEntry, ...]:
    """Return the lines of gres.conf with a Name."""
    return tuple(entry for kind, entry in conf.entries if kind == "gres.conf" and entry.get("Name"))


def _kind(line: ConfEntry) -> str:
    return line.get("Name").lower()


def _files(line: ConfEntry) -> tuple[str, ...]:
    return device_files(line.get("File", "Files"))


def _count(line: ConfEntry) -> int:
    """Return the number of resources of a line: Count, else its files, else 1."""
    return parse_number(line.get("Count"), len(_files(line)) or 1)


def _line_hosts(line: ConfEntry) -> tuple[str, ...]:
    return hosts_of(line.name) if line.key == "NodeName" else ()


def _detects(conf: SlurmConf, host: str = "") -> bool:
    """Return whether gres.conf detects GPUs, on that node or on any."""
    explicit = [
        entry.get("AutoDetect").lower()
        for kind, entry in conf.entries
        if kind == "gres.conf" and entry.has("AutoDetect") and (not host or host in _line_hosts(entry))
    ]
    everywhere = conf.get("AutoDetect", "gres.conf").lower()
    return (
        any(item not in ("", "off") for item in (explicit or [everywhere]))
        if host
        else any(item not in ("", "off") for item in (*explicit, everywhere))
    )


@rule(
    Severity.WARNING,
    "gres.conf(5), Name",
    wrong="NodeName=n1\n--- gres.conf\nNodeName=n1 Name=nic File=/dev/nic0",
    correct="GresTypes=nic\nNodeName=n1 Gres=nic:1\n--- gres.conf\nNodeName=n1 Name=nic File=/dev/nic0",
)
def gres_conf_name_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """Each Name in gres.conf is in GresTypes; Slurm ignores the line otherwise."""
    defined = set(conf.items("GresTypes"))
    for line in _lines(conf) if "slurm.conf" in conf.files and not conf.has_unread else ():
        if _kind(line) not in defined:
            message = _(
                "GresTypes of slurm.conf does not name {name}: Slurm ignores the line", name=_kind(line)
            )
            yield Problem(line, message, f"GresTypes={','.join((*conf.items('GresTypes'), _kind(line)))}")


@rule(
    Severity.WARNING,
    "gres.conf(5), NodeName",
    wrong="GresTypes=gpu\nNodeName=n1 Gres=gpu:1\n--- gres.conf\nNodeName=n[1-2] Name=gpu File=/dev/nvidia0",
    correct="GresTypes=gpu\nNodeName=n1 Gres=gpu:1\n--- gres.conf\nNodeName=n1 Name=gpu File=/dev/nvidia0",
)
def gres_conf_node_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """NodeName in gres.conf is a node of slurm.conf."""
    for line in _lines(conf) if conf.nodes and not conf.has_unread else ():
        unknown = [host for host in _line_hosts(line) if host not in conf.hosts]
        if unknown:
            message = _("{node} is in no NodeName line of slurm.conf", node=unknown[0])
            yield Problem(line, message, f"NodeName={unknown[0]} Gres={_kind(line)}:{_count(line)}")


def _named(conf: SlurmConf) -> dict[tuple[str, str], list[ConfEntry]]:
    """Return the lines of gres.conf by node and GRES; empty if a line has no NodeName: it is one host's file."""
    by_node: dict[tuple[str, str], list[ConfEntry]] = defaultdict(list)
    if not all(_line_hosts(line) for line in _lines(conf)):
        return {}
    for line in _lines(conf):
        for host in _line_hosts(line):
            by_node[host, _kind(line)].append(line)
    return by_node


@rule(
    Severity.ERROR,
    "gres.conf(5), File",
    wrong="GresTypes=gpu\nNodeName=n1 Gres=gpu:8\n--- gres.conf\nNodeName=n1 Name=gpu File=/dev/nvidia[0-3]",
    correct="GresTypes=gpu\nNodeName=n1 Gres=gpu:4\n--- gres.conf\nNodeName=n1 Name=gpu File=/dev/nvidia[0-3]",
)
def gres_count_differs(conf: SlurmConf) -> Iterator[Problem]:
    """gres.conf has as many resources of a node as its Gres in slurm.conf; Slurm drains a node with fewer."""
    reported = set()
    for (host, name), lines in _named(conf).items():
        node = conf.hosts.get(host)
        declared = sum(n for kind, _type, n in gres_of(node) if kind == name) if node else 0
        actual = sum(map(_count, lines))
        if (
            node
            and name not in _SHARED
            and declared > actual
            and (node, name) not in reported
            and not _detects(conf, host)
        ):
            reported.add((node, name))
            values = {"node": host, "name": name, "declared": declared, "actual": actual}
            message = _("{node} has {actual} {name} in gres.conf, but {declared} in slurm.conf", **values)
            yield Problem(lines[0], message, f"NodeName={node.name} Gres={name}:{actual}")


def _files_by_type(lines: Iterable[ConfEntry]) -> dict[str, int] | None:
    """Return the number of device files by type, and of all as the type ""; None if a line lists none."""
    files: dict[str, int] = defaultdict(int)
    for line in lines:
        if not _files(line):
            return None
        files[line.get("Type").lower()] += len(_files(line)) if line.get("Type") else 0
        files[""] += len(_files(line))
    return files


def _unused_devices(
    node: ConfEntry, name: str, lines: Iterable[ConfEntry]
) -> tuple[ConfEntry, str, int, int] | None:
    """Return the first type of a node with fewer resources in slurm.conf than files in gres.conf.

    With its number in slurm.conf and that of its files; None without one. A type that gres.conf lacks has no files.
    """
    files = _files_by_type(lines) or {}
    for kind, typed, count in gres_of(node):
        if kind == name and 0 < count < files.get(typed, 0):
            return node, typed, count, files[typed]
    return None


def _nodes_with_unused_devices(conf: SlurmConf) -> Iterator[tuple[str, ConfEntry, str, int, int]]:
    """Yield GRES and NodeName line of each node that has fewer resources than device files.

    A gres.conf without NodeName is one host's file: no node with the GRES may have as many as its files.
    """
    for (host, name), lines in _named(conf).items():
        node = conf.hosts.get(host)
        if node and not _detects(conf, host) and (unused := _unused_devices(node, name, lines)):
            yield name, *unused
    is_host_file = not _detects(conf) and not any(_line_hosts(line) for line in _lines(conf))
    for name in sorted({_kind(line) for line in _lines(conf)}) if is_host_file else ():
        lines = [line for line in _lines(conf) if _kind(line) == name]
        nodes = [node for node in conf.nodes if any(kind == name for kind, _type, _n in gres_of(node))]
        problems = [problem for node in nodes if (problem := _unused_devices(node, name, lines))]
        if len(problems) == len(nodes):
            yield from ((name, *problem) for problem in problems)


@rule(
    Severity.WARNING,
    "slurm.conf(5), Gres",
    wrong="GresTypes=gpu\nNodeName=n1 Gres=gpu:a100:4\n"
    "--- gres.conf\nNodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-7]",
    correct="GresTypes=gpu\nNodeName=n1 Gres=gpu:a100:8\n"
    "--- gres.conf\nNodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-7]",
)
def gres_devices_unused(conf: SlurmConf) -> Iterator[Problem]:
    """Gres of a node in slurm.conf has as many resources as gres.conf has device files: Slurm uses no others."""
    reported = set()
    for name, node, typed, count, files in _nodes_with_unused_devices(conf):
        if name not in _SHARED and (node, name) not in reported:
            reported.add((node, name))
            gres = f"{name}:{typed}" if typed else name
            values = {"gres": gres, "count": count, "files": files}
            message = _("{gres} is {count}, but gres.conf names {files} device files", **values)
            items = (item.strip() for item in node.get("Gres").split(",") if item.strip())
            pairs = zip(items, gres_of(node), strict=True)
            corrected = (
                f"{gres}:{files}" if item_gres == (name, typed, count) else item for item, item_gres in pairs
            )
            yield Problem(node, message, f"NodeName={node.name} Gres={','.join(corrected)}")


@rule(
    Severity.ERROR,
    "gres.conf(5), Type",
    wrong="GresTypes=gpu\nNodeName=n1 Gres=gpu:h100:1\n--- gres.conf\nNodeName=n1 Name=gpu Type=a100 File=/dev/nvidia0",
    correct="GresTypes=gpu\nNodeName=n1 Gres=gpu:a100:1\n"
    "--- gres.conf\nNodeName=n1 Name=gpu Type=a100 File=/dev/nvidia0",
)
def gres_type_differs(conf: SlurmConf) -> Iterator[Problem]:
    """A type in Gres of slurm.conf is a Type of the node in gres.conf; Slurm drains the node otherwise."""
    reported = set()
    for (host, name), lines in _named(conf).items():
        types = {line.get("Type").lower() for line in lines}
        node = conf.hosts.get(host)
        wrong = [t for kind, t, _n in gres_of(node) if kind == name and t and t not in types] if node else []
        if node and wrong and "" not in types and node not in reported:
            reported.add(node)
            values = {"node": host, "declared": wrong[0], "actual": ", ".join(sorted(types))}
            message = _("{node} has type {declared} in slurm.conf, but {actual} in gres.conf", **values)
            yield Problem(lines[0], message, f"NodeName={host} Name={name} Type={wrong[0]}")


@rule(
    Severity.NOTE,
    "gres.conf(5), NodeName",
    wrong="GresTypes=gpu\nNodeName=n[1-2] Gres=gpu:1\n--- gres.conf\nNodeName=n1 Name=gpu File=/dev/nvidia0",
    correct="GresTypes=gpu\nNodeName=n[1-2] Gres=gpu:1\n--- gres.conf\nNodeName=n[1-2] Name=gpu File=/dev/nvidia0",
)
def gres_node_without_line(conf: SlurmConf) -> Iterator[Problem]:
    """One gres.conf for all nodes has a line for each node with GPUs; Slurm drains a node that reports none."""
    named = _named(conf)
    for node in conf.gpu_nodes if named else ():
        for host in node.hosts:
            if (host, "gpu") not in named and not _detects(conf, host):
                message = _(
                    "gres.conf has lines of other nodes, but none of {node}: as its file it gives the node no GPU",
                    node=host,
                )
                yield Problem(node, message, f"NodeName={host} Name=gpu File=/dev/nvidia0")
                break


@rule(
    Severity.ERROR,
    "gres.conf(5), Count",
    wrong="--- gres.conf\nName=gpu File=/dev/nvidia[0-3] Count=8",
    correct="--- gres.conf\nName=gpu File=/dev/nvidia[0-3] Count=4",
)
def gres_count_and_files(conf: SlurmConf) -> Iterator[Problem]:
    """Count is the number of files of the line: slurmd does not start otherwise; mps and shard are exempt."""
    for line in _lines(conf):
        files, count = len(_files(line)), parse_number(line.get("Count"))
        if files and count and count != files and _kind(line) not in _SHARED:
            values = {"count": count, "files": files}
            message = _("Count={count}, but File names {files} files", **values)
            yield Problem(line, message, f"Name={_kind(line)} File={line.get('File', 'Files')}")


@rule(
    Severity.WARNING,
    "gres.conf(5), File",
    wrong="--- gres.conf\nNodeName=n1 Name=gpu Type=a100 Count=4",
    correct=f"--- gres.conf\n{_GPU_LINE}",
)
def gpu_file_missing(conf: SlurmConf) -> Iterator[Problem]:
    """A line of GPUs has File or MultipleFiles, or AutoDetect finds them: without files jobs share all GPUs."""
    for line in _lines(conf):
        hosts = _line_hosts(line) or ("",)
        has_files = line.has("File") or line.has("Files") or line.has("MultipleFiles")
        if _kind(line) == "gpu" and not has_files and not any(_detects(conf, host) for host in hosts):
            yield Problem(line, _("GPUs without File are only counted, not assigned to jobs"), _GPU_LINE)


def _mixed(conf: SlurmConf, *keys: str) -> Iterator[ConfEntry]:
    """Yield the first line of each node and GRES that differs from the one before in having these keys."""
    former: dict[tuple[str, str], bool] = {}
    reported = set()
    for line in _lines(conf):
        has_key = any(line.has(key) for key in keys)
        for host in _line_hosts(line) or ("",):
            if former.setdefault((host, _kind(line)), has_key) != has_key and line not in reported:
                reported.add(line)
                yield line


@rule(
    Severity.ERROR,
    "gres.conf(5), File",
    wrong="--- gres.conf\nName=nic File=/dev/nic0\nName=nic Count=1",
    correct="--- gres.conf\nName=nic File=/dev/nic0\nName=nic File=/dev/nic1",
)
def gres_partly_with_files(conf: SlurmConf) -> Iterator[Problem]:
    """All lines of a GRES have File, or none: slurmd does not start otherwise."""
    for line in _mixed(conf, "File", "Files", "MultipleFiles"):
        message = _("some {name} lines of the node have {key}, others do not", name=_kind(line), key="File")
        yield Problem(line, message, f"Name={_kind(line)} File=/dev/...")


@rule(
    Severity.ERROR,
    "gres.conf(5), Type",
    wrong="--- gres.conf\nName=gpu Type=a100 File=/dev/nvidia0\nName=gpu File=/dev/nvidia1",
    correct="--- gres.conf\nName=gpu Type=a100 File=/dev/nvidia0\nName=gpu Type=a30 File=/dev/nvidia1",
)
def gres_conf_partly_typed(conf: SlurmConf) -> Iterator[Problem]:
    """All lines of a GRES have Type, or none: slurmd does not start otherwise."""
    for line in _mixed(conf, "Type"):
        message = _("some {name} lines of the node have {key}, others do not", name=_kind(line), key="Type")
        yield Problem(line, message, f"Name={_kind(line)} Type=a100 File={line.get('File')}")


@rule(
    Severity.WARNING,
    "gres.conf(5), File",
    wrong="--- gres.conf\nName=gpu File=/dev/nvidia[0-3]\nName=gpu File=/dev/nvidia3",
    correct="--- gres.conf\nName=gpu File=/dev/nvidia[0-3]\nName=gpu File=/dev/nvidia4",
)
def gres_file_repeated(conf: SlurmConf) -> Iterator[Problem]:
    """A device file is in one line of a node and GRES."""
    used: set[tuple[str, str, str]] = set()
    for line in _lines(conf):
        keys = [(host, _kind(line), file) for host in _line_hosts(line) or ("",) for file in _files(line)]
        repeated = [file for host, kind, file in keys if (host, kind, file) in used]
        if repeated:
            message = _("{file} is also in a line above", file=repeated[0])
            yield Problem(line, message, f"Name={_kind(line)} File=...")
        used |= set(keys)


@rule(
    Severity.ERROR,
    "gres.conf(5), MultipleFiles",
    wrong="--- gres.conf\nName=gpu File=/dev/nvidia0 MultipleFiles=/dev/nvidia[1-2]",
    correct="--- gres.conf\nName=gpu MultipleFiles=/dev/nvidia[1-2]",
)
def gres_files_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """A line has File or MultipleFiles: slurmd does not start with both."""
    for line in _lines(conf):
        if line.has("MultipleFiles") and (line.has("File") or line.has("Files")):
            message = _("File and MultipleFiles exclude each other")
            yield Problem(line, message, f"Name={_kind(line)} MultipleFiles={line.get('MultipleFiles')}")


@rule(
    Severity.WARNING,
    "gres.conf(5), Links",
    wrong="--- gres.conf\nName=gpu File=/dev/nvidia[0-1] Links=-1,4",
    correct="--- gres.conf\nName=gpu File=/dev/nvidia0 Links=-1,4\nName=gpu File=/dev/nvidia1 Links=4,-1",
)
def gres_links_of_many(conf: SlurmConf) -> Iterator[Problem]:
    """A line with Links has one device."""
    for line in _lines(conf):
        if line.get("Links", "Link") and len(_files(line)) > 1:
            message = _("Links describes one device, but the line has {count}", count=len(_files(line)))
            yield Problem(line, message, f"Name={_kind(line)} File={_files(line)[0]} Links=...")


@rule(
    Severity.ERROR,
    "gres.conf(5), AutoDetect",
    wrong="GresTypes=gpu\nResumeProgram=/r\nSuspendProgram=/s\nSuspendTime=900\nResumeTimeout=600\n"
    "NodeName=c1 Gres=gpu:1 State=CLOUD\n--- gres.conf\nAutoDetect=nvml",
    correct="GresTypes=gpu\nResumeProgram=/r\nSuspendProgram=/s\nSuspendTime=900\nResumeTimeout=600\n"
    "NodeName=c1 Gres=gpu:1 State=CLOUD\n--- gres.conf\nNodeName=c1 Name=gpu File=/dev/nvidia0",
)
def autodetect_cloud(conf: SlurmConf) -> Iterator[Problem]:
    """Cloud nodes with GPUs have lines with File in gres.conf: AutoDetect cannot be used with them."""
    for node in conf.gpu_nodes:
        if node.get("State").lower().startswith("cloud") and any(_detects(conf, host) for host in node.hosts):
            message = _("AutoDetect of gres.conf cannot be used with cloud nodes")
            yield Problem(node, message, f"NodeName={node.name} AutoDetect=off Name=gpu File=/dev/nvidia0")


@rule(
    Severity.NOTE,
    "gres.conf(5), AutoDetect",
    wrong="--- gres.conf\nAutoDetect=nvml\nName=gpu File=/dev/nvidia[0-3]",
    correct="--- gres.conf\nAutoDetect=nvml",
)
def autodetect_and_files(conf: SlurmConf) -> Iterator[Problem]:
    """With AutoDetect, gres.conf has no File of GPUs: any difference from the detected GPUs drains the node."""
    for line in _lines(conf):
        hosts = _line_hosts(line) or ("",)
        if _kind(line) == "gpu" and line.has("File") and any(_detects(conf, host) for host in hosts):
            message = _("AutoDetect compares File with the detected GPUs, and a difference drains the node")
            yield Problem(
                line, message, remove(Setting(line.key, f"{line.name} File={line.get('File')}", "", 0))
            )
            return


@rule(
    Severity.NOTE,
    "gres.conf(5), DESCRIPTION",
    wrong="GresTypes=gpu\nNodeName=n1 Gres=gpu:4\n--- folder",
    correct="GresTypes=gpu\nNodeName=n1 Gres=gpu:4\n--- gres.conf\nAutoDetect=nvidia\n--- folder",
)
def gres_conf_missing(conf: SlurmConf) -> Iterator[Problem]:
    """A folder with GPU nodes has a gres.conf: without File or AutoDetect Slurm only counts GPUs."""
    if conf.is_folder and conf.gpu_nodes and "gres.conf" not in conf.files:
        message = _("the folder has no gres.conf: Slurm counts the GPUs, but does not assign devices")
        detector = "nvidia" if conf.slurm_release >= "24.11" else "nvml"
        yield Problem(conf.gpu_nodes[0], message, f"AutoDetect={detector}")
