"""The exporter's settings file; every key is optional."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import List, Mapping

FILE = "/etc/clusterwright/exporter.json"
PORT = 9105


@dataclass
class ExporterSettings:
    """The settings of one host's exporter; tests change the paths."""

    node: str = ""
    control: bool = False  # this host reads Slurm and the runs
    slurmd: bool = False  # this host runs jobs
    listen: str = "127.0.0.1"
    port: int = PORT
    gpus: int = 0  # declared in the cluster file
    paths: List[str] = None  # type: ignore[assignment] # (the dataclass of 3.8 needs a plain default)
    runs: str = ""
    tls: str = "/etc/clusterwright/tls"
    state: str = "/var/lib/clusterwright/exporter"
    run: str = "/run/clusterwright-exporter"
    hooks: str = "/run/clusterwright"
    proc: str = "/proc"
    cgroup: str = "/sys/fs/cgroup"
    net: str = "/sys/class/net"
    infiniband: str = "/sys/class/infiniband"

    def __post_init__(self) -> None:
        """Replace the list of paths by a copy, as the caller may change it; None becomes []."""
        self.paths = list(self.paths or [])


def read(path: str) -> ExporterSettings:
    """Return the settings of the file.

    Raises:
        ValueError: it is not a JSON object, or a value has the wrong type.
    """
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if not isinstance(document, dict):
        raise ValueError(f"{path}: not a JSON object")  # noqa: TRY004 (as for text that is not JSON)
    return from_mapping(document, path)


def from_mapping(document: Mapping[str, object], path: str = "") -> ExporterSettings:
    """Return exporter settings from a mapping; None is the default, unknown keys (of a newer release) are ignored.

    Raises:
        ValueError: a value has another type than its default.
    """
    settings = ExporterSettings()
    for field in fields(ExporterSettings):
        value = document.get(field.name)
        if value is None:
            continue
        if type(value) is not type(getattr(settings, field.name)):
            raise ValueError(f"{path}: {field.name}: {value!r} has the wrong type")
        setattr(settings, field.name, value)
    return settings
