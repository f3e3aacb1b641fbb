"""How the trials of a search are shown, and how a winner is written."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from clusterwright.check.tune.knobs import Settings, known
from clusterwright.check.tune.search import AGREE, FINAL, ROUNDS
from clusterwright.check.tune.trials import Tuned
from clusterwright.check.tune.written import difference, with_settings
from clusterwright.cli._show import say, show_json, show_table
from clusterwright.cli._tune import Common
from clusterwright.config.load import job_of, source_of
from clusterwright.config.reader import read
from clusterwright.edge.files import write_whole


def concluded(
    path: Path,
    found: Tuned,
    options: Common,
    variables: tuple[str, ...],
    check: Callable[[str], object] = lambda text: job_of(read(text, "the job file")),
) -> None:
    """Every trial, what it came to, the difference to the file, and that into it if it is wanted."""
    outcome = found.outcome
    before = source_of(path).text
    after = with_settings(before, outcome.winner, variables)
    diff = difference(before, after, str(path))
    if options.json:
        more = {"winner": dict(outcome.winner.pairs), "gain": outcome.gain, "diff": diff}
        show_json({**asdict(found), **more})
    else:
        show_table(("settings", "trials", "median", "beside default", "why it can matter"), _rows(found))
        sys.stdout.write(diff)
    for line in (*_told(found), *found.notes, _method(found)):
        say(line)
    if diff and options.write:
        check(after)
        write_whole(path, after, mode=path.stat().st_mode & 0o777)
    if diff:
        say(
            f"written to {path}; `patch -R` with these lines takes it back"
            if options.write
            else f"to keep it in {path}: --write"
        )


def _rows(found: Tuned) -> Iterator[tuple[str, ...]]:
    """The default first, then by what was gained beside it."""
    values: dict[Settings, list[float]] = {}
    ratios: dict[Settings, list[float]] = {}
    trials = found.outcome.trials
    beside = {trial.batch: trial.value for trial in trials if trial.settings.is_default}
    for trial in trials:
        values.setdefault(trial.settings, [])
        if trial.value is not None:
            values[trial.settings].append(trial.value)
            if base := beside.get(trial.batch):
                ratios.setdefault(trial.settings, []).append(trial.value / base)
    order = sorted(
        values, key=lambda each: (not each.is_default, -statistics.median(ratios.get(each, [0.0])))
    )
    for each in order:
        median = found.told(statistics.median(values[each])) if values[each] else "did not run"
        gain = f"{statistics.median(ratios[each]):.2f} times" if each in ratios else ""
        yield str(each), str(len(values[each])), median, gain, known(each, found.knobs)


def _told(found: Tuned) -> Iterator[str]:
    outcome = found.outcome
    if not outcome.tuned:
        yield f"{found.subject}: nothing did better than what is set now; nothing to set"
        return
    for name, values in (("as it is", outcome.default), (str(outcome.best), outcome.tuned)):
        yield f"{found.subject}, {name}: {_spread(found, values)}"
    if outcome.won:
        yield f"{outcome.gain:.2f} times the {found.quantity}, {FINAL} times side by side"
    else:
        yield f"{outcome.gain:.2f} times the {found.quantity}: within the spread of how it is now; nothing to set"


def _spread(found: Tuned, values: Sequence[float]) -> str:
    low, high = found.told(min(values)), found.told(max(values))
    return f"{found.told(statistics.median(values))} (median of {len(values)}; {low} to {high})"


def _method(found: Tuned) -> str:
    """How it was searched, and what that took."""
    spent = len(found.outcome.trials) + 1
    return (
        f"{spent} of {found.budget.trials} trials, order by seed {found.budget.seed}: each knob's values halved in"
        f" up to {ROUNDS} rounds beside the default, then the best of each together; a winner has to be ahead in"
        f" {AGREE * FINAL:.0f} of {FINAL} pairs, by more than half of what the default's quartiles are apart"
    )
