"""Search for the best settings: halve each knob's values by their results, then combine the best of each; pure.

Every batch includes the default, so that values are compared with it at the same time, not with an hour ago.
"""

from __future__ import annotations

import statistics
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from clusterwright.check.tune.knobs import DEFAULT, Knob, KnobSettings, singles

Batch = tuple[KnobSettings, ...]  # to measure once each, in this order
TrialValues = Mapping[KnobSettings, float | None]  # larger is better; None if it did not run
Search = Generator[Batch, TrialValues, "TuningOutcome"]

ROUNDS = 4  # ours: rounds in which the values of a knob are halved; of eight, one is left
FINAL = 7  # ours: repeats of the default and the winner side by side; 6 of the 7 pairs must agree
AGREE = 6 / 7
LEAST_GAIN = 0.01  # ours: a gain below one part in a hundred is not worth an extra setting


@dataclass(frozen=True, slots=True)
class Trial:
    """One measurement: batch, settings and value; None if it did not run."""

    batch: int
    settings: KnobSettings
    value: float | None


@dataclass(frozen=True, slots=True)
class TuningOutcome:
    """The result: every trial, and the best settings; `won`: whether they beat the default with confidence."""

    trials: tuple[Trial, ...]
    best: KnobSettings
    won: bool
    default: tuple[float, ...]
    tuned: tuple[float, ...]

    @property
    def gain(self) -> float:
        """Median of the best over the median of the default, measured side by side; 1 is no gain."""
        return statistics.median(self.tuned) / statistics.median(self.default) if self.tuned else 1.0

    @property
    def winner(self) -> KnobSettings:
        """The settings to use from now on: the best ones if they won, else the default."""
        return self.best if self.won else DEFAULT


def search(knobs: Sequence[Knob], budget: int, seed: int) -> Search:
    """Yield batches of settings, receive their values (larger is better), and return the outcome.

    At most `budget` trials are spent, the final included; with too few for all single changes, a random choice of them
    is tried.
    """
    random, trials, number = Random(seed), list[Trial](), 0  # nosec B311 # noqa: S311 (an order of trials, no secret)
    spare = budget - 2 * FINAL
    alive = list(singles(knobs))
    random.shuffle(alive)
    alive = alive[: max(0, spare - 1)]
    while alive and spare > len(alive) and number < ROUNDS:
        spare -= len(alive) + 1
        values = yield _mixed(alive, random)
        trials += _to_trials(number, values)
        number += 1
        alive = _halved(alive, trials)
    best = _combine_best(alive, trials)
    if best.is_default:
        return TuningOutcome(tuple(trials), DEFAULT, won=False, default=(), tuned=())
    for _ in range(FINAL):
        values = yield _mixed([best], random)
        trials += _to_trials(number, values)
        number += 1
    return _concluded(trials, best, first_batch=number - FINAL)


def better(default: Sequence[float], tuned: Sequence[float]) -> bool:
    """True if the gain is proven by at least seven pairs, of which 6 in 7 agree.

    It must exceed the default's own spread, and 1%.
    """
    pairs = list(zip(default, tuned, strict=True))
    if len(pairs) < FINAL:
        return False
    agreed = sum(two > base for base, two in pairs) / len(pairs)
    middle = statistics.median(default)
    gain = statistics.median(tuned) - middle
    return agreed >= AGREE and gain > max(_spread(default), LEAST_GAIN * abs(middle))


def _spread(values: Sequence[float]) -> float:
    """Return half the interquartile range of the values."""
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2


def _mixed(some: Sequence[KnobSettings], random: Random) -> Batch:
    """Return the settings and the default in random order, so that a drift of the hosts affects all of them equally."""
    batch = [DEFAULT, *some]
    random.shuffle(batch)
    return tuple(batch)


def _to_trials(number: int, values: TrialValues) -> list[Trial]:
    return [Trial(number, settings, value) for settings, value in values.items()]


def _ratios(trials: Sequence[Trial]) -> dict[KnobSettings, list[float]]:
    """Return each setting's values divided by the default's of the same batch; settings that failed are left out."""
    baselines = {trial.batch: trial.value for trial in trials if trial.settings.is_default}
    ratios: dict[KnobSettings, list[float]] = {}
    broken = {trial.settings for trial in trials if trial.value is None}
    for trial in trials:
        base = baselines.get(trial.batch)
        if (
            trial.value is not None
            and base
            and not trial.settings.is_default
            and trial.settings not in broken
        ):
            ratios.setdefault(trial.settings, []).append(trial.value / base)
    return ratios


def _halved(alive: Sequence[KnobSettings], trials: Sequence[Trial]) -> list[KnobSettings]:
    """Return the better half of each variable's values, by their median ratio to the default.

    Values that are not faster than the default so far, or have no result, are left out.
    """
    ratios = _ratios(trials)
    survivors: list[KnobSettings] = []
    for variable in dict.fromkeys(settings.pairs[0][0] for settings in alive):
        values = [settings for settings in alive if settings.pairs[0][0] == variable and settings in ratios]
        values.sort(key=lambda settings: -statistics.median(ratios[settings]))
        survivors += [
            settings for settings in values[: -(-len(values) // 2)] if statistics.median(ratios[settings]) > 1
        ]
    return survivors


def _combine_best(alive: Sequence[KnobSettings], trials: Sequence[Trial]) -> KnobSettings:
    """Return the settings that set each variable with a median gain over 1 % to its best value; the default if none."""
    ratios = _ratios(trials)
    winners = [settings for settings in alive if statistics.median(ratios[settings]) > 1 + LEAST_GAIN]
    winners.sort(key=lambda settings: statistics.median(ratios[settings]))
    best = DEFAULT
    for settings in winners:
        best = best.merged(settings)
    return best


def _concluded(trials: Sequence[Trial], best: KnobSettings, first_batch: int) -> TuningOutcome:
    final = [trial for trial in trials if trial.batch >= first_batch]
    rows: dict[int, dict[bool, float]] = {}
    for trial in final:
        if trial.value is not None:
            rows.setdefault(trial.batch, {})[trial.settings.is_default] = trial.value
    complete_rows = [row for row in rows.values() if len(row) == 2]
    default, tuned = tuple(row[True] for row in complete_rows), tuple(row[False] for row in complete_rows)
    return TuningOutcome(tuple(trials), best, won=better(default, tuned), default=default, tuned=tuned)
