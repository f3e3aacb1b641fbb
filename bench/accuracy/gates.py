"""Accuracy goals, judged on rows whose source was held out of the fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from bench.accuracy.rivals import CALCULON_A100, CALCULON_OOM, SIMUMAX_MEMORY
from bench.accuracy.scores import Off, Ranking, Score, Verdicts, quantile, score
from bench.accuracy.speed_rows import Measured
from bench.accuracy.times import Times

NVIDIA = ("DGXC", "Megatron-Bridge", "NeMo")


@dataclass(frozen=True, slots=True)
class Gate:
    """One accuracy goal, with what was reached."""

    name: str
    what: str
    rows: int
    known: str  # the best published result of others
    aim: str
    ours: str
    in_sample: str
    reached: bool


@dataclass(frozen=True, slots=True)
class Measures:
    """All prediction errors by which the goals are judged."""

    times: Times
    memory: Sequence[Off]
    memory_in: Sequence[Off]
    told: Verdicts
    layouts: Sequence[Ranking]
    collectives: Sequence[Off]
    collectives_in: Sequence[Off]
    networks: Sequence[Off]
    networks_in: Sequence[Off]
    scaling: Sequence[float]
    scaling_in: Sequence[float]
    unseen: Sequence[Off]  # of bench/accuracy/unseen, with the stored coefficients


Belongs = Callable[[Measured], bool]


def gates(found: Measures) -> list[Gate]:
    """Return the goals in order of their numbers."""
    return [*_time_gates(found), *_memory_gates(found), *_other_gates(found)]


def _time_gates(found: Measures) -> list[Gate]:
    return [
        _time(found, ("all", "complete pretraining rows"), "-", lambda one: one.complete and not one.weak,
              median=0.08, p90=0.30, bias=0.03),
        _time(found, ("G1", "A100, Megatron-LM and Megatron-DeepSpeed"), _calculon(), _a100,
              median=0.06, mean=0.08, p90=0.15, bias=0.03),
        _time(found, ("G2", "Korthikanti table 5 (in sample allowed)"), "mean 3.65%, most 8.87%",
              lambda one: "Table 5" in one.source, mean=0.03, most=0.07),
        _time(found, ("G3", "1,024 GPUs and more"), "10-30%", lambda one: one.run.machine.gpus >= 1024 and not one.weak,
              median=0.08),
        _time(found, ("G4", "H100 to GB300, NVIDIA's tables, all rows"), "none published",
              lambda one: one.source.startswith(NVIDIA), median=0.08, p90=0.20),
        _time(found, ("G4", "the same, complete rows"), "none published",
              lambda one: one.complete and one.source.startswith(NVIDIA), median=0.08, p90=0.20),
        _time(found, ("G5", "fully sharded (FSDP, ZeRO-3)"), "none", lambda one: one.run.layout.zero == 3, median=0.08),
        *_unseen(found),
        *_slopes(found),
        _ranges(found),
        _layouts(found),
    ]  # fmt: skip


def _a100(one: Measured) -> bool:
    return "A100" in one.row["gpu_type"] and one.run.stack.family.startswith("megatron")


def _calculon() -> str:
    mean, tail = CALCULON_A100
    return f"mean {mean:.1%}, P90 {tail:.1%}, always too fast"


def _time(found: Measures, names: tuple[str, str], known: str, belongs: Belongs, **aims: float) -> Gate:
    mine = [index for index, one in enumerate(found.times.rows) if belongs(one)]
    held = score([found.times.source_out[index] for index in mine])
    seen = score([found.times.inside[index] for index in mine])
    return _gate(names, known, (held, seen), aims)


def _gate(names: tuple[str, str], known: str, scores: tuple[Score, Score], aims: dict[str, float]) -> Gate:
    held, seen = scores
    aim = ", ".join(f"{name} {most:.0%}" for name, most in aims.items())
    told = ", ".join(f"{name} {_value(held, name):.1%}" for name in aims)
    own = ", ".join(f"{name} {_value(seen, name):.1%}" for name in aims)
    reached = all(abs(_value(held, name)) <= most for name, most in aims.items())
    return Gate(*names, held.rows, known, aim, told, own, reached)


def _value(of: Score, name: str) -> float:
    return abs(of.worst.error) if name == "most" else float(getattr(of, name))


def _unseen(found: Measures) -> list[Gate]:
    """Return goals for times of bench/accuracy/unseen, which was never part of a fit."""
    mine = [each for each in found.unseen if each.group == "time"]
    if not mine:
        return []
    what = "held-out sources, all rows"
    gate = _gate(("unseen", what), "-", (score(mine), score(mine)), {"median": 0.08, "p90": 0.30})
    return [replace(gate, in_sample="-")]


def _slopes(found: Measures) -> list[Gate]:
    """Return goals for the loss of MFU by strong scaling, in points of the MFU with the fewest GPUs."""
    mine = [
        i
        for i, one in enumerate(found.times.rows)
        if "strong scaling" in one.source and one.row["measured_mfu"]
    ]
    if len(mine) < 2:
        return []
    mine.sort(key=lambda i: found.times.rows[i].run.machine.gpus)
    few, many = mine[0], mine[-1]
    first, last = found.times.rows[few], found.times.rows[many]
    more = last.run.machine.gpus / first.run.machine.gpus
    points = float(first.row["measured_mfu"])

    def off(rows: Sequence[Off]) -> float:
        kept = rows[few].predicted / rows[many].predicted / more
        return abs(kept - rows[few].measured / rows[many].measured / more) * points

    held, seen = off(found.times.source_out), off(found.times.inside)
    what = f"loss of MFU from {first.run.machine.gpus} to {last.run.machine.gpus:,} GPUs"
    return [Gate("G3", what, 2, "-", "2 points", f"{held:.1f} points", f"{seen:.1f} points", held <= 2)]


def _ranges(found: Measures) -> Gate:
    def share(rows: Sequence[Off]) -> float:
        return fmean(each.inside for each in rows if each.complete and each.inside is not None)

    held, seen = share(found.times.source_out), share(found.times.inside)
    rows = sum(each.complete and each.inside is not None for each in found.times.source_out)
    what = "share of left-out complete rows between P10 and P90"
    return Gate("range", what, rows, "none", "75 to 85%", f"{held:.0%}", f"{seen:.0%}", 0.75 <= held <= 0.85)


def _layouts(found: Measures) -> Gate:
    places = [each.place <= 3 for each in found.layouts]
    share = fmean(places) if places else 0.0
    what = "groups of 4 and more layouts: the measured best is in our top 3"
    return Gate("layouts", what, len(places), "none", "90%", f"{share:.0%}", "-", share >= 0.9)


def _memory_gates(found: Measures) -> list[Gate]:
    told = found.told
    both = (score(found.memory), score(found.memory_in))
    right = (told.oom - told.oom_called_fitting) / max(told.oom, 1)
    fitting = told.ran_called_fitting / max(told.ran, 1)
    dense = [[each for each in rows if each.group == "dense"] for rows in (found.memory, found.memory_in)]
    b200 = [[each for each in rows if "SimuMax" in each.source] for rows in (found.memory, found.memory_in)]
    simumax = f"mean {SIMUMAX_MEMORY:.2%} (SimuMax on its own)"
    return [
        _gate(("G6", "peak memory, all rows"), "-", both, {"median": 0.05}),
        _gate(("G6", "peak memory, dense models"), "-", (score(dense[0]), score(dense[1])), {"median": 0.02}),
        _gate(("G6", "peak memory, SimuMax's B200 rows"), simumax, (score(b200[0]), score(b200[1])), {"median": 0.01}),
        Gate("G7", "out of memory, predicted so", told.oom, f"{CALCULON_OOM} (Calculon)", "90%", f"{right:.0%}", "-",
             right >= 0.9),
        Gate("G7", "ran, predicted to fit", told.ran, "-", "97%", f"{fitting:.1%}", "-", fitting >= 0.97),
    ]  # fmt: skip


def _other_gates(found: Measures) -> list[Gate]:
    large = [
        [each for each in rows if each.group == "large"] for rows in (found.collectives, found.collectives_in)
    ]
    alone = [[each for each in rows if each.group == "alone"] for rows in (found.networks, found.networks_in)]
    sizes = [[abs(each) for each in rows] for rows in (found.scaling, found.scaling_in)]
    middle = [quantile(each, 0.5) for each in sizes]
    return [
        _gate(("G9", "images/s of one GPU"), "none open", (score(alone[0]), score(alone[1])), {"median": 0.10}),
        Gate("G9", "scaling efficiency", len(sizes[0]), "none open", "median 5 points", f"{100 * middle[0]:.1f} points",
             f"{100 * middle[1]:.1f} points", middle[0] <= 0.05),
        _gate(("G10", "collectives of 64 MiB and more"), "one constant efficiency",
              (score(large[0]), score(large[1])), {"median": 0.10, "most": 0.35}),
    ]  # fmt: skip
