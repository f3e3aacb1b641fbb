"""Kinds of faults of a campaign, the jobs that meet them, and which of them a seed draws."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

from clusterwright.config.job import Job
from clusterwright.i18n import _

On = Literal["member", "supervisor", "free", "control", "none"]
DiagnosisSubject = Literal["host", "run", "failure", "none"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault, and the truth about it.

    It is a fault of the lab, a signal to a rank, or a program that breaks by itself. `beside` is a second fault at
    the same time; `tears` sends the signal to every rank, and cuts the newest checkpoint. `ask` says who has to know
    the cause, `cause` which answers are right.
    """

    name: str
    about: str
    on: On
    ask: DiagnosisSubject
    actions: frozenset[str]
    fault: str = ""
    signal: str = ""
    tears: bool = False
    program: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    cause: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    job: Literal["finishes", "fails"] = "finishes"


@cache
def kinds() -> dict[str, Kind]:
    """Every kind, by name.

    Raises:
        ValueError: a row says what nothing reads, or does not say what is planted.
    """
    return read((Path(__file__).parent / "kinds.toml").read_text(encoding="utf-8"))


def read(text: str) -> dict[str, Kind]:
    """Every kind of that text.

    Raises:
        ValueError: as `kinds` says.
    """
    return {name: _kind(name, row) for name, row in tomllib.loads(text).items()}


def _kind(name: str, row: Mapping[str, Any]) -> Kind:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    try:
        kind = Kind(name=name, **values | {"actions": frozenset(values["actions"])})
    except (TypeError, KeyError) as problem:
        raise ValueError(f"kinds.toml: {name}: {problem}") from problem
    if kind.on not in get_args(On) or kind.ask not in get_args(DiagnosisSubject):
        raise ValueError(_("kinds.toml: {name}: `on` or `ask` has an unknown value", name=name))
    if len([mechanism for mechanism in (kind.fault, kind.signal, kind.program) if mechanism]) != 1:
        raise ValueError(_("kinds.toml: {name}: set exactly one of fault, signal and program", name=name))
    if (kind.ask == "none") != (not kind.cause):
        raise ValueError(_("kinds.toml: {name}: a `cause` requires an `ask` other than none", name=name))
    return kind


EARLIEST, LATEST = 0.2, 0.6  # parts of the training: past its first steps, and with some left to lose


@dataclass(frozen=True, slots=True)
class Planned:
    """One fault of a campaign: the training has done that share of its steps, and `which` chooses among equal hosts."""

    number: int
    kind: Kind
    at: float
    which: float


def draw(seed: int, count: int, kinds: Mapping[str, Kind]) -> tuple[Planned, ...]:
    """The same for the same seed, on any machine; every kind as often as any other, give or take one."""
    dice = Random(seed)  # noqa: S311 (a game that can be repeated, and no secret)
    names = sorted(kinds)
    order: list[str] = []
    while len(order) < count:
        order += dice.sample(names, len(names))
    return tuple(
        Planned(number, kinds[name], dice.uniform(EARLIEST, LATEST), dice.random())
        for number, name in enumerate(order[:count], start=1)
    )


def choose_host(hosts: Sequence[str], which: float) -> str:
    """The host that `which` (0 to 1) means."""
    return sorted(hosts)[int(which * len(hosts))]


STEPS, EVERY = 80, 10
PROGRAM = "campaign-breaks.py"  # in the shared folder
HOPELESS = 1e12  # a learning rate


def calm(shared: str, user: str | None) -> Job:
    """The training to which nothing happens."""
    return _job("", shared, user, "campaign-calm")


def job(kind: Kind, shared: str, user: str | None, number: int) -> Job:
    """The training under which a fault of that kind is planted, or which is the fault."""
    return _job(kind.program, shared, user, f"campaign-{number}")


def _job(program: str, shared: str, user: str | None, name: str) -> Job:
    """Two hosts and a third held ready."""
    rows: dict[str, Any] = {
        "name": name,
        "nodes": 2,
        "gpus_per_node": 1,
        "time": "30m",
        "user": user,
        "recovery": {"on_host_loss": "spare", "spare_nodes": 1},
        "checkpoint": {"every": f"{EVERY} steps", "save_total_limit": 3},
    }
    if program in ("exception", "memory"):
        rows |= {"command": [f"{shared}/{PROGRAM}", program]}
    else:
        arguments: dict[str, float] = {"steps": STEPS, "text_bytes": 100_000}
        rows |= {"recipe": "gpt", "arguments": arguments | ({"learning_rate": HOPELESS} if program else {})}
    return Job.model_validate(rows, strict=False)
