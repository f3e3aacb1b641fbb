"""What a fact is: one command or probe, a time limit, and a pure parser of what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from clusterwright.config.cluster import Cluster, Host

T = TypeVar("T")

LIMIT_S = 10.0  # ours: on a machine with 15 processes per core our plain commands took up to 5 s


@dataclass(frozen=True, slots=True)
class HostSpec:
    """What the cluster file says, seen from one host of it."""

    cluster: Cluster
    host: Host

    @property
    def is_control(self) -> bool:
        """True for the host that runs slurmctld."""
        return self.host.name == self.cluster.control.name

    @property
    def is_compute(self) -> bool:
        """True for a host that runs jobs."""
        return self.host.group.role == "compute"


def is_compute(spec: HostSpec) -> bool:
    """True for a host that runs jobs."""
    return spec.is_compute


@dataclass(frozen=True, slots=True)
class Missing:
    """A fact that could not be read, and why, in the tool's own words."""

    reason: str


def texts(out: str) -> dict[str, str]:
    """A JSON object whose values are all texts, as probes print it.

    Raises:
        ValueError: it is anything else.
    """
    document = json.loads(out)
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise ValueError(out[:80])
    return document


Argv = Callable[[HostSpec], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """One thing that a host says about itself.

    A fact with `depends_on` is read on the control host in a second round; on its stdin it finds what that other
    fact said on every host, as one JSON object by host name.
    """

    id: str
    about: str
    argv: Argv
    parse: Callable[[str], T]
    limit_s: float = LIMIT_S
    codes: tuple[int, ...] = (0,)
    probe: str = ""
    depends_on: Fact[Any] | None = None


def fact(
    *argv: str | Argv,
    probe: str = "",
    limit_s: float = LIMIT_S,
    codes: tuple[int, ...] = (0,),
    depends_on: Fact[Any] | None = None,
) -> Callable[[Callable[[str], T]], Fact[T]]:
    """Make a fact of a parser; `argv` is words, or one function from what is wanted to words.

    `probe` names a script in onhost/probes that runs in place of a command, with `argv` as its arguments;
    `codes` are the exit codes with which the output can be trusted.
    """

    def arguments(spec: HostSpec) -> Sequence[str]:
        return [argument for item in argv for argument in ([item] if isinstance(item, str) else item(spec))]

    def decorate(parse: Callable[[str], T]) -> Fact[T]:
        about = (parse.__doc__ or "").strip().splitlines()[0]
        return Fact(parse.__name__, about, arguments, parse, limit_s, codes, probe, depends_on)

    return decorate
