"""The content of a site's Slurm files: settings by key; nodes, partitions, GRES and switches with their defaults."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from clusterwright.config.names import expand_valid
from clusterwright.config.slurm_keys import key_spans
from clusterwright.config.slurm_keys.table import line_keys
from clusterwright.slurm.conf_files import conf_lines
from clusterwright.slurm.records import limit_seconds

KINDS = (
    "slurm.conf",
    "gres.conf",
    "cgroup.conf",
    "topology.conf",
    "topology.yaml",
    "slurmdbd.conf",
    "oci.conf",
    "mpi.conf",
    "acct_gather.conf",
    "job_container.conf",
    "helpers.conf",
    "burst_buffer.conf",
)


# Lines with a name whose keys no table has.
_OTHER_ENTRIES = frozenset({"poweraction", "frontendname", "ringname"})


@dataclass(frozen=True)
class Source:
    """A file: its path as shown, its kind (the name of the file that Slurm reads), its text, and what it includes.

    `includes` has the sources by the words after Include; a word without sources names a file that does not exist, a
    missing word one that was not searched.
    """

    path: str
    kind: str
    text: str
    includes: Mapping[str, tuple[Source, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """KEY=VALUE on a line of its own, or the key of a line that is missing at that place."""

    key: str
    value: str
    file: str
    line: int

    @property
    def items(self) -> tuple[str, ...]:
        """The words of a comma-separated value, in lower case."""
        return tuple(item.strip().lower() for item in self.value.split(",") if item.strip())


@dataclass(frozen=True, eq=False)
class ConfEntry:
    """A line with a name, such as NodeName=: its values, with those that DEFAULT lines before it gave."""

    key: str
    name: str
    values: Mapping[str, str]
    explicit: frozenset[str]
    file: str
    line: int

    def get(self, *keys: str) -> str:
        """Return the value of the first of these keys that is set; "" if none is."""
        return next((self.values[key.lower()] for key in keys if key.lower() in self.values), "")

    def has(self, key: str) -> bool:
        """Return whether the key is set on the line or by a DEFAULT line."""
        return key.lower() in self.values

    def count(self, key: str, default: int = 0) -> int:
        """Return a number; the default if it is not set or is no number."""
        return parse_number(self.get(key), default)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names of the line's name."""
        return hosts_of(self.name)


def hosts_of(hostlist: str) -> tuple[str, ...]:
    """Expand a hostlist; a text that is none counts as one name."""
    return expand_valid(hostlist) or ((hostlist,) if hostlist else ())


def device_files(text: str) -> tuple[str, ...]:
    """Expand the files of a GRES: `/dev/nvidia[0-3]` has four."""
    return tuple(file for item in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text) for file in _device_range(item))


def _device_range(item: str) -> tuple[str, ...]:
    match = re.fullmatch(r"(.*?)\[([0-9,-]+)\](.*)", item.strip())
    if not match:
        return (item.strip(),)
    numbers = hosts_of(f"n[{match[2]}]")
    return tuple(f"{match[1]}{number[1:]}{match[3]}" for number in numbers)


def parse_number(text: str, default: int = 0) -> int:
    """Return a whole number of ASCII digits; the default for another text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else default


def minutes(text: str) -> int | None:
    """Convert a time limit to minutes; None for no limit or an invalid text."""
    total = limit_seconds(text)
    return None if total is None else -(-total // 60)


@dataclass(frozen=True)
class SlurmConf:
    """All lines of a site's Slurm files.

    `is_folder`: the files are all that the site has. `programs` has the state of programs by path ("missing" or "not
    executable"), `unresolved` the names of controllers that do not resolve; both are empty if no host was examined.
    """

    slurm_release: str
    settings: Mapping[str, Mapping[str, tuple[Setting, ...]]]
    entries: tuple[tuple[str, ConfEntry], ...]
    files: Mapping[str, str]
    missing_includes: tuple[Setting, ...] = ()
    is_folder: bool = False
    has_unread: bool = False
    programs: Mapping[str, str] = field(default_factory=dict)
    unresolved: frozenset[str] = frozenset()

    def line_of(self, key: str, kind: str = "slurm.conf") -> Setting | None:
        """Return the last line that sets the key in the file `kind`; None if none does."""
        lines = self.settings.get(kind, {}).get(key.lower(), ())
        return lines[-1] if lines else None

    def get(self, key: str, kind: str = "slurm.conf") -> str:
        """Return the value of a key in the file `kind`; "" if it is not set."""
        setting = self.line_of(key, kind)
        return setting.value if setting else ""

    def items(self, key: str, kind: str = "slurm.conf") -> tuple[str, ...]:
        """Return the words of a comma-separated value in the file `kind`, in lower case; none if it is not set."""
        setting = self.line_of(key, kind)
        return setting.items if setting else ()

    def number(self, key: str, default: int, kind: str = "slurm.conf") -> int:
        """Return the whole number of a key in the file `kind`; the default if it is not set or is no number."""
        return parse_number(self.get(key, kind), default)

    def is_yes(self, key: str, kind: str = "slurm.conf") -> bool:
        """Return whether a key of the file `kind` is set to yes, up, true or 1, in any case; False if it is not set."""
        return self.get(key, kind).lower() in ("yes", "up", "true", "1")

    def entries_of(self, key: str, kind: str = "slurm.conf") -> tuple[ConfEntry, ...]:
        """Return the lines of a kind: NodeName, PartitionName, SwitchName; the key is spelled as in the manual."""
        return tuple(entry for file, entry in self.entries if file == kind and entry.key == key)

    def missing_node_line(self, name: str) -> str:
        """Return a NodeName line for a node that has none, with the CPUs of the first node that states them, else 1."""
        cpus = next((value for node in self.nodes if (value := node.get("CPUs"))), "1")
        return f"NodeName={name} CPUs={cpus}"

    @cached_property
    def nodes(self) -> tuple[ConfEntry, ...]:
        """The NodeName lines of slurm.conf, without DEFAULT."""
        return tuple(entry for entry in self.entries_of("NodeName") if entry.name.upper() != "DEFAULT")

    @cached_property
    def partitions(self) -> tuple[ConfEntry, ...]:
        """The PartitionName lines, without DEFAULT."""
        return tuple(entry for entry in self.entries_of("PartitionName") if entry.name.upper() != "DEFAULT")

    @cached_property
    def hosts(self) -> dict[str, ConfEntry]:
        """The NodeName line of each node."""
        return {host: entry for entry in self.nodes for host in entry.hosts}

    @cached_property
    def nodesets(self) -> dict[str, frozenset[str]]:
        """The nodes of each NodeSet, by feature and by name."""
        return {entry.name: frozenset(self._members(entry)) for entry in self.entries_of("NodeSet")}

    def _members(self, entry: ConfEntry) -> Iterator[str]:
        yield from hosts_of(entry.get("Nodes"))
        feature = entry.get("Feature").lower()
        for host, node in self.hosts.items() if feature else ():
            if feature in node.get("Features", "Feature").lower().split(","):
                yield host

    def hosts_in(self, partition: ConfEntry) -> frozenset[str]:
        """Return the nodes of a partition: names, node sets, or ALL."""
        names = hosts_of(partition.get("Nodes"))
        members = {host for name in names for host in self.nodesets.get(name, (name,))}
        return frozenset(self.hosts) if "ALL" in {name.upper() for name in names} else frozenset(members)

    @cached_property
    def gpu_nodes(self) -> tuple[ConfEntry, ...]:
        """The NodeName lines with GRES gpu."""
        return tuple(
            node for node in self.nodes if any(name == "gpu" for name, _type, _count in gres_of(node))
        )

    @cached_property
    def controllers(self) -> tuple[Setting, ...]:
        """The SlurmctldHost lines, or the older ControlMachine and BackupController."""
        lines = self.settings.get("slurm.conf", {})
        older = (*lines.get("controlmachine", ())[-1:], *lines.get("backupcontroller", ())[-1:])
        return tuple(lines.get("slurmctldhost", ())) or older

    @property
    def is_complete(self) -> bool:
        """Whether slurm.conf is a whole file, not a fragment: what it does not set is not set."""
        return bool(self.nodes and self.partitions and self.get("ClusterName")) and not self.has_unread

    def top(self, key: str) -> Setting:
        """Return the place of a key that is not set: the first line of slurm.conf."""
        return Setting(key, "", self.files.get("slurm.conf", "slurm.conf"), 1)

    @property
    def consumes_memory(self) -> bool:
        """Whether memory is a consumable resource; CR_Core_Memory is the default since 21.08."""
        items = self.items("SelectTypeParameters")
        if not items:
            return self.plugin("SelectType", "").startswith("cons_") and self.slurm_release >= "21.08"
        return any(item.endswith("_memory") for item in items)

    def plugin(self, key: str, default: str, kind: str = "slurm.conf") -> str:
        """Return the plug-in of a key in lower case, without its prefix: cons_tres for select/cons_tres.

        The default if the key is not set in the file `kind`.
        """
        return self.get(key, kind).lower().rpartition("/")[2] or default

    def plugins(self, key: str) -> tuple[str, ...]:
        """Return the names of a list of plug-ins, in lower case, without their prefixes."""
        return tuple(item.rpartition("/")[2] for item in self.items(key))


def gres_of(node: ConfEntry) -> tuple[tuple[str, str, int], ...]:
    """Return (name, type, count) of each GRES of a node: `gpu:a100:4` is ("gpu", "a100", 4); "" for no type."""
    return tuple(_gres(item) for item in node.get("Gres").lower().split(",") if item.strip())


def _gres(item: str) -> tuple[str, str, int]:
    name, *tail = item.partition("(")[0].strip().split(":")
    counts = [part for part in tail if part[:1].isdigit() and part.rstrip("kmgtp").isdigit()]
    count = int(counts[-1].rstrip("kmgtp")) if counts else 1
    types = [part for part in tail if part not in (counts[-1:] or [""]) and part != "no_consume"]
    return name, types[0] if types else "", count


def parse_conf(sources: Iterable[Source], slurm_release: str, *, is_folder: bool = False) -> SlurmConf:
    """Parse the Slurm files of a site, and those that they include, into settings and lines of nodes and the like.

    `is_folder`: the sources are all files of a folder, so that a file which is not among them does not exist.
    """
    reader = _Reader()
    files = {}
    for source in sources:
        files[source.kind] = source.path
        reader.read(source)
    return SlurmConf(
        slurm_release,
        {kind: {key: tuple(lines) for key, lines in keys.items()} for kind, keys in reader.settings.items()},
        tuple(reader.entries),
        files,
        tuple(reader.missing),
        is_folder,
        reader.has_unread,
    )


class _Reader:
    """Collects lines in their order, so that DEFAULT lines serve those after them."""

    def __init__(self) -> None:
        self.settings: dict[str, dict[str, list[Setting]]] = {}
        self.entries: list[tuple[str, ConfEntry]] = []
        self.missing: list[Setting] = []
        self.has_unread = False
        self._defaults: dict[tuple[str, str], dict[str, str]] = {}

    def read(self, source: Source) -> None:
        """Add the settings and lines of a file, and of those that it includes."""
        if source.kind == "topology.yaml":
            self.entries += [("topology.conf", entry) for entry in _yaml_entries(source.text, source.path)]
            return
        for line in conf_lines(source.text):
            if line.include:
                self._include(source, line.include, line.number)
            elif line.pairs:
                self._add(source, line.number, line.pairs)

    def _include(self, source: Source, name: str, number: int) -> None:
        if name not in source.includes:
            self.has_unread = True
        elif not source.includes[name]:
            self.missing.append(Setting("Include", name, source.path, number))
        for included in source.includes.get(name, ()):
            self.read(included)

    def _add(self, source: Source, number: int, pairs: tuple[tuple[str, str], ...]) -> None:
        kind, (former, name) = source.kind, pairs[0]
        is_entry = former.lower() in line_keys(kind) | _OTHER_ENTRIES or kind == "gres.conf"
        if not is_entry or (kind == "gres.conf" and former.lower() == "autodetect"):
            keys = self.settings.setdefault(kind, {})
            for key, value in pairs:
                keys.setdefault(key.lower(), []).append(Setting(key, value, source.path, number))
            return
        spelled = key_spans(kind)[former.lower()].name if former.lower() in key_spans(kind) else former
        explicit = {key.lower(): value for key, value in pairs[1:]}
        if kind == "gres.conf" and former.lower() == "name":
            explicit["name"] = name
        defaults = self._defaults.setdefault((kind, spelled), {})
        if name.upper() == "DEFAULT":
            defaults |= explicit
        entry = ConfEntry(spelled, name, {**defaults, **explicit}, frozenset(explicit), source.path, number)
        self.entries.append((kind, entry))


_YAML_LISTS = (("tree", "switches", "switch", "SwitchName"), ("block", "blocks", "block", "BlockName"))


def _yaml_entries(text: str, file: str) -> Iterator[ConfEntry]:
    """Yield the switches and blocks of topology.yaml as lines of topology.conf; a file that is no YAML has none."""
    try:
        topologies = YAML(typ="rt").load(text)
    except YAMLError:
        return
    for topology in topologies if isinstance(topologies, list) else ():
        for kind, plural, name, key in _YAML_LISTS:
            section = topology.get(kind) if isinstance(topology, dict) else None
            rows = section.get(plural) if isinstance(section, dict) else None
            for row in rows if isinstance(rows, list) else ():
                if isinstance(row, dict) and name in row:
                    yield _yaml_entry(row, key, str(row[name]), file)


def _yaml_entry(row: Any, key: str, name: str, file: str) -> ConfEntry:
    values = {item: str(row[item]) for item in ("nodes", "children") if row.get(item) is not None}
    if "children" in values:
        values["switches"] = values.pop("children")
    return ConfEntry(key, name, values, frozenset(values), file, row.lc.line + 1)
