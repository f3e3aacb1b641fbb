"""What `wright tune` prints of a search."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterwright.cli._show import show_json, show_message, show_table, show_verbatim
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.check.tune.knobs import KnobSettings
    from clusterwright.check.tune.trials import Tuned


def show_trials(result: Tuned, more: dict[str, object], diff: str = "", *, json: bool) -> None:
    """Print every trial as a table, the diff and the summary; with `json` one document of result and `more`."""
    if json:
        show_json({**asdict(result), **more})
    else:
        show_table(
            ("settings", "trials", "median", "relative to default", "why the setting can matter"),
            _rows(result),
        )
        show_verbatim(diff) if diff else None
    for line in (*_summary_lines(result), *result.notes, _method(result)):
        show_message(line)


def _rows(result: Tuned) -> Iterator[tuple[str, ...]]:
    """Yield a row of the table for each setting that was tried: the default first, then by speedup.

    It has the setting, the number of results, their median, the speedup over the default and an explanation.
    """
    from clusterwright.check.tune.knobs import explain_settings

    values: dict[KnobSettings, list[float]] = {}
    ratios: dict[KnobSettings, list[float]] = {}
    trials = result.outcome.trials
    baselines = {trial.batch: trial.value for trial in trials if trial.settings.is_default}
    for trial in trials:
        values.setdefault(trial.settings, [])
        if trial.value is not None:
            values[trial.settings].append(trial.value)
            if base := baselines.get(trial.batch):
                ratios.setdefault(trial.settings, []).append(trial.value / base)
    order = sorted(
        values,
        key=lambda settings: (not settings.is_default, -statistics.median(ratios.get(settings, [0.0]))),
    )
    for settings in order:
        median = (
            result.format_value(statistics.median(values[settings])) if values[settings] else _("did not run")
        )
        gain = f"{statistics.median(ratios[settings]):.2f}x" if settings in ratios else ""
        yield (
            str(settings),
            str(len(values[settings])),
            median,
            gain,
            explain_settings(settings, result.knobs),
        )


def _summary_lines(result: Tuned) -> Iterator[str]:
    from clusterwright.check.tune.search import FINAL

    outcome = result.outcome
    if not outcome.tuned:
        yield _(
            "{subject}: no setting is faster than the current ones; nothing to change", subject=result.subject
        )
        return
    for name, values in ((_("current settings"), outcome.default), (str(outcome.best), outcome.tuned)):
        yield f"{result.subject}, {name}: {_spread(result, values)}"
    gain = f"{outcome.gain:.2f}x"
    if outcome.won:
        yield _(
            "{gain} {quantity} in {pairs} paired trials", gain=gain, quantity=result.quantity, pairs=FINAL
        )
    else:
        yield _(
            "{gain} {quantity}: within the spread of the current settings; nothing to change",
            gain=gain,
            quantity=result.quantity,
        )


def _spread(result: Tuned, values: Sequence[float]) -> str:
    low, high = result.format_value(min(values)), result.format_value(max(values))
    return _(
        "{median} (median of {count}; {low} to {high})",
        median=result.format_value(statistics.median(values)),
        count=len(values),
        low=low,
        high=high,
    )


def _method(result: Tuned) -> str:
    """Return a sentence about the search and its cost."""
    from clusterwright.check.tune.search import AGREE, FINAL, ROUNDS

    spent = len(result.outcome.trials) + 1
    return _(
        "{spent} of {budget} trials, order by seed {seed}: successive halving of each setting's values in up to "
        "{rounds} rounds against the default, then the best of each together; a winner must be ahead in {wins} of "
        "{pairs} pairs, by more than half of the default's interquartile range",
        spent=spent,
        budget=result.budget.trials,
        seed=result.budget.seed,
        rounds=ROUNDS,
        wins=round(AGREE * FINAL),
        pairs=FINAL,
    )
