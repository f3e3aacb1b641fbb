"""What was read from a site: texts of its files and hosts; and the Slurm files in it with what they include."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from clusterwright.config.slurm_keys import key_spans
from clusterwright.config.slurm_rules import KINDS, Source
from clusterwright.slurm.conf_files import conf_lines

_DEEPEST = 8  # includes within includes; a file that includes itself would never end


@dataclass(frozen=True, slots=True)
class RecordedHost:
    """Texts of one host, by the names of `gather.HOST_COMMANDS`: files, and output of commands that only read."""

    os_release: str = ""
    meminfo: str = ""
    lscpu: str = ""
    gpus: str = ""
    mounts: str = ""
    passwd: str = ""
    group: str = ""
    sysctl: str = ""
    limits: str = ""
    fstab: str = ""
    exports: str = ""
    holds: str = ""
    pins: str = ""
    units: str = ""
    unit_files: str = ""
    cluster_units: str = ""
    failed_units: str = ""
    firewall: str = ""
    firewall_files: str = ""
    firewalld: str = ""


@dataclass(frozen=True, slots=True)
class RecordedSite:
    """Texts of a site: its Slurm files by path, their folder, the version of Slurm, and the texts of hosts.

    `addresses`: lines of NAME ADDRESS; `tables`: output of sacctmgr and `scontrol show reservation` by name.
    """

    files: Mapping[str, str]
    folder: str
    version: str
    addresses: str = ""
    hosts: Mapping[str, RecordedHost] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)

    def sources(self) -> tuple[Source, ...]:
        """Return the files of the site that Slurm reads, each with those that it includes."""
        paths = {kind: posixpath.join(self.folder, kind) for kind in KINDS}
        present = [(kind, path) for kind, path in paths.items() if path in self.files]
        return tuple(self._source(path, kind, _DEEPEST) for kind, path in present)

    def missing_includes(self) -> tuple[str, ...]:
        """Return the absolute paths of included files whose text was not read, sorted."""
        return tuple(sorted({path for source in self.sources() for path in self._missing(source)}))

    def _missing(self, source: Source) -> set[str]:
        paths = {self._path(name) for name, files in source.includes.items() if not files}
        return paths.union(*(self._missing(file) for files in source.includes.values() for file in files))

    def _source(self, path: str, kind: str, depth: int) -> Source:
        text = self.files[path]
        lines = conf_lines(text) if depth and key_spans(kind) else ()
        names = {line.include for line in lines if line.include and "%" not in line.include}
        targets = {name: self._path(name) for name in names}
        includes = {
            name: (self._source(target, kind, depth - 1),) if target in self.files else ()
            for name, target in targets.items()
        }
        return Source(path, kind, text, includes)

    def _path(self, name: str) -> str:
        return posixpath.normpath(posixpath.join(self.folder, name))
