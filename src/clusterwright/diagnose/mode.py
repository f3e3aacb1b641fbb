"""Failure modes are read from `modes/CLASS/ID.toml`; what a file may hold is said in docs/decisions/0009-why.md."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "modes"
CLASSES = (
    "network-connectivity", "network-misconfig", "rdma-config", "gpu-hardware", "driver-mismatch", "gpu-oom",
    "host-oom", "shm", "storage-full", "storage-io", "checkpoint-corrupt", "user-code", "rendezvous",
    "port-conflict", "node-lost", "slurm-config", "slurm-auth", "slurm-limits", "time-skew", "dataloader",
    "numerical", "version-mismatch", "container", "other",
)  # fmt: skip
ROLES = ("root", "cascade", "teardown", "benign")
RETRIES = ("no", "yes", "elsewhere", "fixed")
COUNTS = ("gpus", "hosts", "collectives")
KINDS = ("log", "kernel", "slurm", "sacct", "scontrol", "verdict", "metric", "flight", "live")

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Signature:
    """One line that tells of a mode: holds `has`, matches `like` where there is one, and one of `near` is about."""

    has: str
    like: str = ""
    kind: str = ""  # of the source; any where it is empty
    near: tuple[str, ...] = ()
    role: str = ""  # the mode's where it is empty


@dataclass(frozen=True, slots=True)
class Witness:
    """What makes a mode surer, or rules it out: a line that holds `has` (and matches `like`), or another mode."""

    has: str = ""
    like: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to fail: what tells of it, what it means and what fixes it."""

    id: str  # CLASS/NAME
    role: str
    cause: str
    fix: str
    retry: str
    certain: float
    signatures: tuple[Signature, ...]
    exclude: str = ""
    confirmed_by: tuple[Witness, ...] = ()
    ruled_out_by: tuple[Witness, ...] = ()
    maybe: tuple[str, ...] = ()  # modes that the same lines may tell of, where nothing tells them apart
    follows: tuple[str, ...] = ()  # modes, classes or `*`: what it may be a consequence of
    counted: str = ""  # by which rule of judge/counting.py its sightings tell more together
    programs: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Its class, one of CLASSES."""
        return self.id.partition("/")[0]


def paths(folder: Path = FOLDER) -> list[Path]:
    """Every mode file, in the order of names."""
    return sorted(folder.glob("*/*.toml"))


def identity(path: Path) -> str:
    """`CLASS/NAME` of a mode file."""
    return f"{path.parent.name}/{path.stem}"


def tables(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """What the files hold, by id, as it is written."""
    return {identity(path): tomllib.loads(path.read_text(encoding="utf-8")) for path in paths(folder)}


def mode(name: str, table: Table) -> Mode:
    """The mode that a file's table describes; a test has checked the table."""
    return Mode(
        id=name,
        role=table["role"],
        cause=table["cause"],
        fix=table["fix"],
        retry=table["retry"],
        certain=float(table["certain"]),
        signatures=tuple(_signature(signature) for signature in table["signature"]),
        exclude=table.get("exclude", ""),
        confirmed_by=tuple(Witness(**witness) for witness in table.get("confirmed_by", ())),
        ruled_out_by=tuple(Witness(**witness) for witness in table.get("ruled_out_by", ())),
        counted=table.get("counted", ""),
        maybe=tuple(table.get("maybe", ())),
        follows=tuple(table.get("follows", ())),
        programs=tuple(table.get("programs", ())),
        sources=tuple(table.get("sources", ())),
    )


def _signature(table: Table) -> Signature:
    return Signature(
        has=table["has"],
        like=table.get("like", ""),
        kind=table.get("in", ""),
        near=tuple(table.get("near", ())),
        role=table.get("role", ""),
    )
