"""The `fact` decorator: one command or probe on a host, its time limit, and a pure parser of its output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from clusterwright.config.cluster import Cluster, Host
from clusterwright.onhost.lib.safe_reader import parse_document

T = TypeVar("T")
Permission = Literal["", "root", "journal"]  # journal: root, or a member of the group systemd-journal

LIMIT_S = 10.0  # ours: with 15 processes per core our shortest commands took up to 5 s


@dataclass(frozen=True, slots=True)
class HostSpec:
    """The cluster file and one of its hosts: what a check compares the facts of that host with."""

    cluster: Cluster
    host: Host

    @property
    def is_control(self) -> bool:
        """True for the host that runs slurmctld."""
        return self.host.name == self.cluster.control.name

    @property
    def is_compute(self) -> bool:
        """True for a host of role compute."""
        return self.host.group.role == "compute"


def is_compute(spec: HostSpec) -> bool:
    """True for a host of role compute."""
    return spec.is_compute


@dataclass(frozen=True, slots=True)
class Missing:
    """A fact that could not be read, and why, as the tool reported it."""

    reason: str


def texts(out: str) -> dict[str, str]:
    """Parse a probe's JSON object of strings.

    Raises:
        ValueError: the text is not such an object.
    """
    document = parse_document(out)
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise ValueError(out[:80])
    return document


Argv = Callable[[HostSpec], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """One property of a host: the command that reads it and the parser of the output.

    A fact with `depends_on` is read on the control host in a second round; its stdin is the other fact's values
    of all hosts, as one JSON object by host name.
    """

    id: str
    about: str
    argv: Argv
    parse: Callable[[str], T]
    limit_s: float = LIMIT_S
    codes: tuple[int, ...] = (0,)
    probe: str = ""
    depends_on: Fact[Any] | None = None
    permission: Permission = ""


def fact(
    *argv: str | Argv,
    probe: str = "",
    limit_s: float = LIMIT_S,
    codes: tuple[int, ...] = (0,),
    depends_on: Fact[Any] | None = None,
    permission: Permission = "",
) -> Callable[[Callable[[str], T]], Fact[T]]:
    """Turn a parser function into a Fact; `argv` holds words and functions from HostSpec to words.

    `probe` names a script in onhost/probes that runs instead of a command, with `argv` as its arguments;
    `codes` are the exit codes whose output is parsed. `permission` is the one without which a host may
    refuse the command.
    """

    def arguments(spec: HostSpec) -> Sequence[str]:
        return [argument for item in argv for argument in ([item] if isinstance(item, str) else item(spec))]

    def decorate(parse: Callable[[str], T]) -> Fact[T]:
        about = (parse.__doc__ or "").strip().splitlines()[0]
        return Fact(parse.__name__, about, arguments, parse, limit_s, codes, probe, depends_on, permission)

    return decorate
