"""The workload to size for: a training, its amount of data and epochs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from clusterwright.errors import EXIT_USAGE, Finding, WrightError
from clusterwright.i18n import N_, _
from clusterwright.plan.run import Training
from clusterwright.units import QuantityError, parse_duration

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Usual:
    """Default sizes of a task, with their source."""

    seq_len: int
    global_batch: int
    epochs: float
    source: str


_TUNING = Usual(
    2048, 64, 3, N_("batch as Llama 2, 2307.09288, 3.1; length as Vicuna; epochs as Stanford Alpaca")
)
USUAL = {
    "pretrain": Usual(4096, 1024, 1, N_("Llama 2, 2307.09288, 2.2: 4,096 tokens, 4 M per batch")),
    "sft": _TUNING,
    "lora": _TUNING,
}


@dataclass(frozen=True, slots=True)
class Workload:
    """A training and its data; one sample is one sequence of `training.seq_len` tokens."""

    training: Training
    samples: float  # of one epoch
    epochs: float = 1
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> float:
        """Number of iterations; the last one of each epoch may be partial and counts as a whole one."""
        return math.ceil(self.samples / self.training.global_batch) * self.epochs

    @property
    def tokens(self) -> float:
        """Number of tokens processed, padding included."""
        return self.steps * self.training.global_batch * self.training.seq_len


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """Command-line options of a workload; empty if not given."""

    architecture: Architecture
    task: str = ""  # empty: sft if samples are given, else pretrain
    samples: str = ""
    tokens: str = ""
    seq: str = ""
    epochs: float | None = None
    global_batch: str = ""
    deadline: str = ""
    precision: str = "bf16"


@dataclass(slots=True)
class _Reader:
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def read(self, option: str, text: str, parse: Callable[[str], T], usual: T) -> T:
        if not text:
            return usual
        try:
            return parse(text)
        except QuantityError as error:
            self.findings.append(Finding("bad-quantity", f"{option}: {error.message}", error.fix))
            return usual

    def wrong(self, message: str, fix: str) -> None:
        self.findings.append(Finding("size-workload", message, fix))


def workload(request: WorkloadRequest) -> tuple[Workload, float]:
    """Parse a workload and its deadline in seconds (infinite if not given); sizes not given are usual for the task.

    Raises:
        WrightError: bad-quantity or size-workload, all findings at once.
    """
    reader = _Reader()
    task = request.task
    request = replace(request, task=task or ("sft" if request.samples else "pretrain"))
    usual = USUAL.get(request.task) or USUAL["pretrain"]
    if request.task not in USUAL:
        reader.wrong(
            _("unknown task `{task}`", task=request.task), _("use one of {tasks}", tasks=", ".join(USUAL))
        )
    seq = reader.read("--seq", request.seq, parse_count, usual.seq_len)
    batch = reader.read("--global-batch", request.global_batch, parse_count, usual.global_batch)
    samples = _samples(request, reader, seq)
    deadline = reader.read("--deadline", request.deadline, parse_duration, math.inf)
    epochs = usual.epochs if request.epochs is None else request.epochs
    if deadline <= 0:
        reader.wrong(_("--deadline is 0"), _("write the deadline as 3h or 2d12h"))
    if not 0 < epochs < math.inf:
        reader.wrong(
            _("--epochs is {epochs:g}, but must be more than 0", epochs=epochs),
            _("write 1 for a single pass over the data"),
        )
    if reader.findings:
        raise WrightError(*reader.findings, exit_code=EXIT_USAGE)
    training = Training(request.architecture, seq, batch, request.precision, task=request.task)
    return Workload(training, samples, epochs, _notes(request, usual, seq, has_task=bool(task))), deadline


def _samples(request: WorkloadRequest, reader: _Reader, seq: int) -> float:
    if bool(request.samples) == bool(request.tokens):
        message = (
            _("both --samples and --tokens are given")
            if request.samples
            else _("the amount of data is not given")
        )
        reader.wrong(message, _("give either --samples 52k or --tokens 1e9"))
    if request.tokens:
        return reader.read("--tokens", request.tokens, parse_count, seq) / seq
    return reader.read("--samples", request.samples, parse_count, 1)


def _notes(request: WorkloadRequest, usual: Usual, seq: int, *, has_task: bool) -> tuple[str, ...]:
    is_set = {
        "--seq": request.seq,
        "--global-batch": request.global_batch,
        "--epochs": request.epochs is not None,
    }
    values = {"--seq": seq, "--global-batch": usual.global_batch, "--epochs": usual.epochs}
    assumed = [] if has_task else [f"--task {request.task}"]
    assumed += [f"{option} {values[option]:g}" for option in is_set if not is_set[option]]
    notes = []
    if assumed:
        options = ", ".join(assumed)
        text = _(
            "assumed {options} for {task} ({source})",
            options=options,
            task=request.task,
            source=_(usual.source),
        )
        notes.append(text)
    if request.samples:
        text = _(
            "each sample counts as {count} tokens, padded or packed; packing shorter ones takes less time",
            count=seq,
        )
        notes.append(text)
    return tuple(notes)


_COUNT = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE]\+?[0-9]{1,2})?) ?([kKmMbBgGtT]?)")
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?(%?)")


def parse_count(text: str) -> int:
    """Parse a count: `52k` is 52,000, `1.5M` 1,500,000, `2B` and `2e9` 2,000,000,000, `1T` 10^12.

    Raises:
        QuantityError: not a number, an unknown suffix, a fraction, or 0.
    """
    match = _COUNT.fullmatch(text.strip().replace("_", "").replace(",", ""))
    if match is None:
        raise QuantityError(
            _("`{text}` is not a count", text=text[:60]), _("write the number as 52000, 52k, 1.5M or 1e9")
        )
    value = Decimal(match[1]) * _TIMES[match[2].lower()]
    if value != round(value) or value < 1:
        raise QuantityError(
            _("`{text}` is not a whole number above 0", text=text),
            _("write the number as 52000, 52k, 1.5M or 1e9"),
        )
    return round(value)


def parse_share(text: str) -> float:
    """Parse a share, at least 0 and below 1: `30%` and `0.3` are 0.3.

    Raises:
        QuantityError: not a share, or 100% or more.
    """
    match = _SHARE.fullmatch(text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else -1
    if not 0 <= value < 1:
        raise QuantityError(
            _("`{text}` is not a share from 0% to 99%", text=text[:60]), _("write the share as 30% or 0.3")
        )
    return value
