"""What the exporter is told by its file; every key may be missing."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import List, Mapping

FILE = "/etc/clusterwright/exporter.json"
PORT = 9105


@dataclass
class Settings:
    """One host's; the places below are other ones in tests."""

    node: str = ""
    control: bool = False  # Slurm and the runs are read here
    slurmd: bool = False  # jobs run here
    listen: str = "127.0.0.1"
    port: int = PORT
    gpus: int = 0  # declared in the cluster file
    journal: bool = False  # kernel's lines come from the journal: a virtual host has no log of its own
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
    kmsg: str = "/dev/kmsg"

    def __post_init__(self) -> None:
        """A list of its own."""
        self.paths = list(self.paths or [])


def read(path: str) -> Settings:
    """Those of the file.

    Raises:
        ValueError: it is no JSON object, or a key has another kind of value.
    """
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if not isinstance(document, dict):
        raise ValueError(f"{path}: an object is wanted")  # noqa: TRY004 (as for text that is no JSON)
    return from_mapping(document, path)


def from_mapping(document: Mapping[str, object], path: str = "") -> Settings:
    """From a mapping; keys of a newer release are passed over."""
    settings = Settings()
    for field in fields(Settings):
        value = document.get(field.name)
        if value is None:
            continue
        if type(value) is not type(getattr(settings, field.name)):
            raise ValueError(f"{path}: {field.name}: {value!r} is of another kind")
        setattr(settings, field.name, value)
    return settings
