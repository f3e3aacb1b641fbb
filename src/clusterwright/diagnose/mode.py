"""Failure modes (known kinds of failures) from `modes/CLASS/ID.toml`; docs/decisions/0009-why.md has the format."""

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
    """A line that identifies a mode: it contains `has`, matches `like` if set, and a text of `near` is nearby."""

    has: str
    like: str = ""
    kind: str = ""  # kind of the source; empty for any
    near: tuple[str, ...] = ()
    role: str = ""  # empty for the mode's own


@dataclass(frozen=True, slots=True)
class Witness:
    """Evidence for or against a mode: a line that contains `has` (and matches `like`), or another mode."""

    has: str = ""
    like: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Mode:
    """One failure mode: its signatures, cause and fix."""

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
    maybe: tuple[str, ...] = ()  # alternative modes that the same lines may mean
    follows: tuple[str, ...] = ()  # modes, classes or `*` of which it may be a consequence
    counted: str = ""  # the rule of judge/counting.py for its sightings
    programs: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The mode's class, one of CLASSES."""
        return self.id.partition("/")[0]


def paths(folder: Path = FOLDER) -> list[Path]:
    """Return the files of all failure modes, sorted by name."""
    return sorted(folder.glob("*/*.toml"))


def identity(path: Path) -> str:
    """Return the mode id `CLASS/NAME` of a mode file."""
    return f"{path.parent.name}/{path.stem}"


def tables(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Return the parsed mode files by mode id."""
    return {identity(path): tomllib.loads(path.read_text(encoding="utf-8")) for path in paths(folder)}


def mode(name: str, table: Table) -> Mode:
    """Build a mode from the table of a file, which tests have validated."""
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
