"""Failure modes (known kinds of failures) from `modes/CLASS/ID.toml`; docs/decisions/0009-why.md has the format."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright import plugins
from clusterwright.i18n import _

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
KINDS = ("log", "kernel", "slurm", "sacct", "scontrol", "verdict", "metric", "flight", "live", "output")

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
        """Return the failure mode's class, one of CLASSES."""
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


def plugin_tables(ours: Container[str]) -> dict[str, dict[str, Any]]:
    """Return the parsed mode files of plug-ins by mode id.

    Raises:
        WrightError: `plugin-broken`: a file is not a failure mode; `plugin-clash`: its id is taken.
    """
    mode_tables: dict[str, dict[str, Any]] = {}
    for folder, plugin in plugins.folders("failure_modes").items():
        for path in paths(folder):
            name = identity(path)
            if name in ours or name in mode_tables:
                reason = _("the failure mode `{name}` exists already", name=name)
                raise plugin.error(reason, code="plugin-clash")
            try:
                mode_tables[name] = tomllib.loads(path.read_text(encoding="utf-8"))
                _require_valid(mode(name, mode_tables[name]))
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise plugin.error(f"{name}.toml: {type(error).__name__}: {error}") from error
    return mode_tables


def _require_valid(read: Mode) -> None:
    """Check the values and regular expressions of a failure mode, as of a plug-in.

    Raises:
        ValueError: a value is not one of its choices, or an expression is invalid.
    """
    for value, choices in ((read.kind, CLASSES), (read.role, ROLES), (read.retry, RETRIES)):
        if value not in choices:
            raise ValueError(_("`{value}` is not one of {names}", value=value, names=", ".join(choices)))
    if not read.signatures or not all(signature.has for signature in read.signatures):
        raise ValueError(_("each signature needs a text `has`"))
    if not 0 < read.certain <= 1:
        raise ValueError(_("`certain` is not above 0 and at most 1"))
    witnesses = (*read.confirmed_by, *read.ruled_out_by)
    for like in (
        *(signature.like for signature in read.signatures),
        *(witness.like for witness in witnesses),
    ):
        re.compile(like)


def mode(name: str, table: Table) -> Mode:
    """Return the failure mode of the table of a file, which tests have validated."""
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
