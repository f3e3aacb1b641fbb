"""The kinds of faults of a campaign, the jobs they are injected into, and the draw by seed."""

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
class FaultKind:
    """One kind of fault, and the expected outcome.

    It is a fault of the lab, a signal to a rank, or a program that fails by itself. `second_fault` is injected at
    the same time; `tears` sends the signal to every rank, and truncates the newest checkpoint. `subject` selects the
    diagnosis to read, `cause` lists the right answers.
    """

    name: str
    about: str
    on: On
    subject: DiagnosisSubject
    actions: frozenset[str]
    fault: str = ""
    signal: str = ""
    tears: bool = False
    program: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    second_fault: Mapping[str, str] = field(default_factory=dict)
    cause: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    job: Literal["finishes", "fails"] = "finishes"


@cache
def kinds() -> dict[str, FaultKind]:
    """Return every kind of fault of kinds.toml by name.

    Raises:
        ValueError: A row has an unknown key or value, or does not define one fault.
    """
    return read((Path(__file__).parent / "kinds.toml").read_text(encoding="utf-8"))


def read(text: str) -> dict[str, FaultKind]:
    """Return the kinds of faults in a TOML text by name.

    Raises:
        ValueError: A row has an unknown key or value, or does not define one fault.
    """
    return {name: _kind(name, row) for name, row in tomllib.loads(text).items()}


def _kind(name: str, row: Mapping[str, Any]) -> FaultKind:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    try:
        kind = FaultKind(name=name, **values | {"actions": frozenset(values["actions"])})
    except (TypeError, KeyError) as problem:
        raise ValueError(f"kinds.toml: {name}: {problem}") from problem
    if kind.on not in get_args(On) or kind.subject not in get_args(DiagnosisSubject):
        raise ValueError(_("kinds.toml: {name}: `on` or `subject` has an unknown value", name=name))
    if len([mechanism for mechanism in (kind.fault, kind.signal, kind.program) if mechanism]) != 1:
        raise ValueError(_("kinds.toml: {name}: set exactly one of fault, signal and program", name=name))
    if (kind.subject == "none") != (not kind.cause):
        raise ValueError(_("kinds.toml: {name}: a `cause` requires a `subject` other than none", name=name))
    return kind


EARLIEST, LATEST = 0.2, 0.6  # steps of the training, as shares, between which faults are injected


@dataclass(frozen=True, slots=True)
class Planned:
    """One fault of a campaign: injected at that share of the steps; `which` (0 to 1) selects among equal hosts."""

    number: int
    kind: FaultKind
    progress: float
    which: float


def draw(seed: int, count: int, kinds: Mapping[str, FaultKind]) -> tuple[Planned, ...]:
    """Return `count` random faults, the same for a seed on any machine; each kind equally often, give or take one."""
    dice = Random(seed)  # nosec B311 # noqa: S311 (a repeatable draw, no secret)
    names = sorted(kinds)
    order: list[str] = []
    while len(order) < count:
        order += dice.sample(names, len(names))
    return tuple(
        Planned(number, kinds[name], dice.uniform(EARLIEST, LATEST), dice.random())
        for number, name in enumerate(order[:count], start=1)
    )


def choose_host(hosts: Sequence[str], which: float) -> str:
    """Return the host of a list that `which` (from 0 to below 1) selects."""
    return sorted(hosts)[int(which * len(hosts))]


STEPS, EVERY = 80, 10
PROGRAM = "campaign-breaks.py"  # in the shared folder
HOPELESS = 1e12  # a learning rate


def job_without_fault(shared: str, user: str | None) -> Job:
    """Return the job of the training without a fault, whose duration is the reference."""
    return _job("", shared, user, "campaign-calm")


def job(kind: FaultKind, shared: str, user: str | None, number: int) -> Job:
    """Return the job of a training into which a fault of that kind is injected."""
    return _job(kind.program, shared, user, f"campaign-{number}")


def _job(program: str, shared: str, user: str | None, name: str) -> Job:
    """Return the job of a campaign: two hosts and a standby host, which run `program` in the folder `shared`.

    `exception` and `memory` are programs that fail; any other is the recipe gpt, with learning rate HOPELESS unless it
    is "".
    """
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
