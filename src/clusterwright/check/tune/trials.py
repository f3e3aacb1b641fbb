"""Run the search: every trial is measured and logged, within the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clusterwright.check.bench.amounts import amount
from clusterwright.check.tune.knobs import DEFAULT, Knob, KnobSettings
from clusterwright.check.tune.search import FINAL, TuningOutcome, search
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

Measure = Callable[[KnobSettings], float | None]  # larger is better; None if it did not run
# The first run, one batch of the default and one setting, and the final comparison.
LEAST = 1 + 2 + 2 * FINAL


@dataclass(frozen=True, slots=True)
class Budget:
    """The number of trials, and the seed of their order.

    Raises:
        WrightError: There are too few trials to try one setting.
    """

    trials: int
    seed: int

    def __post_init__(self) -> None:
        if self.trials < LEAST:
            raise WrightError.from_code(
                "tune-budget",
                _(
                    "{trials} trials are too few: the final comparison alone needs {needed}",
                    trials=self.trials,
                    needed=2 * FINAL,
                ),
                _("use --budget {least} to try one setting, 60 to try every setting", least=LEAST),
                exit_code=EXIT_USAGE,
            )


@dataclass(frozen=True, slots=True)
class Tuned:
    """The outcome, and what was tried; values are of `quantity` in `unit`, larger is better."""

    subject: str
    quantity: str
    unit: str
    knobs: tuple[Knob, ...]
    budget: Budget
    outcome: TuningOutcome
    notes: tuple[str, ...] = ()
    line: float = 0.0  # the highest possible value, if known

    def format_value(self, value: float) -> str:
        """Format a value of the tuned quantity for messages."""
        return format_measurement(value, self.unit, self.line)


def format_measurement(value: float, unit: str, line: float = 0.0) -> str:
    """Format steps per second (unit `1/s`) as the time of a step; a bandwidth with its share of `line`, if known."""
    if unit == "1/s":
        return _("{amount} per step", amount=amount(1 / value, "s"))
    return amount(value, unit) + (_(", {value:.0%} of line rate", value=value / line) if line else "")


@dataclass(slots=True)
class Trials:
    """Counts trials, and logs each."""

    measure: Measure
    format_value: Callable[[float], str]
    log: Callable[[str], None]
    spent: int = 0

    def rehearse(self) -> None:
        """Run the default once, before anything is compared with it.

        Raises:
            WrightError: It does not run.
        """
        if self._run_trial(DEFAULT) is None:
            raise WrightError.from_code(
                "tune-nothing-ran",
                _("the first trial, with the current settings, failed"),
                _(
                    "read the messages of the trial above; `wright bench "
                    "collectives` measures the hosts without the training"
                ),
            )

    def search(self, knobs: Sequence[Knob], budget: Budget) -> TuningOutcome:
        """Run the search with the trials of the budget that are left; measure and log each."""
        search_run = search(knobs, budget.trials - self.spent, budget.seed)
        try:
            batch = next(search_run)
            while True:
                batch = search_run.send({settings: self._run_trial(settings) for settings in batch})
        except StopIteration as end:
            outcome: TuningOutcome = end.value
            return outcome

    def _run_trial(self, settings: KnobSettings) -> float | None:
        self.spent += 1
        value = self.measure(settings)
        text = _("did not run") if value is None else self.format_value(value)
        self.log(_("trial {spent}: {settings}: {text}", spent=self.spent, settings=settings, text=text))
        return value
