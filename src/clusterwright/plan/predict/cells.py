"""The cells of one row of a table of runs, with notes on what was inferred and the problems found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from clusterwright.errors import Finding
from clusterwright.i18n import _

# Columns that a prediction may read. Measured columns are not among them: a row with its measurements
# deleted, or replaced by nonsense, gives the same prediction.
SHAPE = ("model", "params_b", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq_len")
MACHINE = ("gpu_type", "num_gpus", "gpus_per_node", "interconnect")
BATCH = ("global_batch", "micro_batch")
PARALLELISM = ("tp", "pp", "interleave", "dp_or_fsdp", "cp", "zero_stage", "recompute", "ep")
TEXT_COLUMNS = ("source", "precision", "task", "notes_url")
COLUMNS = (*SHAPE, *MACHINE, *BATCH, *PARALLELISM, *TEXT_COLUMNS)


# At least ten times more than any real one: larger values are mistakes and are not predicted.
LARGEST = {
    "layers": 10_000, "heads": 100_000, "kv_heads": 100_000, "hidden": 10**6, "tp": 10**5, "pp": 10**4,
    "size_bytes": 10**15,
}  # fmt: skip
_LARGEST = 10**9
_WORDY = {*TEXT_COLUMNS, "model", "recompute"}  # "none" is a value there
_BLANK = {"-", "--", "?", "n/a", "na", "nan", "none", "null", "unknown", "auto"}


def _cell(column: str, text: str | None) -> str:
    """Return the stripped cell; "" for `n/a`, `none` and the like in columns where they mean blank."""
    cell = (text or "").strip()
    return "" if column not in _WORDY and cell.lower() in _BLANK else cell


@dataclass
class Cells:
    """One row; `notes` collects what was inferred, `problems` what makes the row unusable."""

    row: dict[str, str]
    notes: list[str] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    inferred: set[str] = field(default_factory=set)  # columns whose value we chose

    @cached_property
    def full_text(self) -> str:
        """The text of the row's columns dp_or_fsdp, source, model, recompute and notes_url, joined, to be searched."""
        return " ; ".join(
            self.row[name] for name in ("dp_or_fsdp", "source", "model", "recompute", "notes_url")
        )

    @classmethod
    def from_row(cls, row: dict[str, str]) -> Cells:
        """Build cells from a row with only the columns that a prediction may read; missing ones are blank."""
        return cls({name: _cell(name, row.get(name)) for name in COLUMNS})

    def text(self, column: str) -> str:
        """Return the text of the row's cell in this column; "" if it is blank."""
        return self.row[column]

    def integer(self, column: str) -> int | None:
        """Return a whole number from 1 to the column's limit; None if blank; else None and a problem is added."""
        value = self.number(column)
        if value is None:
            return None
        if value > LARGEST.get(column, _LARGEST):
            self.wrong(
                "predict-not-a-size",
                _("{column} is {value}, which is implausibly large", column=column, value=self.row[column]),
                _(
                    "write a whole number of at most {limit} in column `{column}`",
                    limit=LARGEST.get(column, _LARGEST),
                    column=column,
                ),
            )
            return None
        if value < 1 or value != int(value):
            self.wrong(
                "predict-not-a-size",
                _(
                    "{column} is {value}, which is not a whole number above 0",
                    column=column,
                    value=self.row[column],
                ),
                _("write a whole number above 0 in column `{column}`, such as 8", column=column),
            )
            return None
        return int(value)

    def positive(self, column: str) -> float | None:
        """Return a number above 0; None if blank, or if it is not one, which adds a problem."""
        value = self.number(column)
        if value is None or value > 0:
            return value
        self.wrong(
            "predict-not-a-size",
            _("{column} is {value}, which is not above 0", column=column, value=self.row[column]),
            _("write a number above 0 in column `{column}`, such as 8", column=column),
        )
        return None

    def number(self, column: str) -> float | None:
        """Return a finite number; None if blank, or if it is not one, which adds a problem.

        Commas and underscores within it, and everything from a parenthesis on, are ignored.
        """
        text = self.row[column].split("(")[0].replace(",", "").replace("_", "").strip()  # `4e9 (nominal)`
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if value - value != 0:
            self.wrong(
                "predict-not-a-number",
                _("{column} is `{value}`, which is not a number", column=column, value=self.row[column]),
                _("write digits in column `{column}`, such as 64 or 4e9", column=column),
            )
            return None
        return value

    def note(self, text: str, column: str = "") -> None:
        """Add a note on what was inferred; `column` marks it as a choice that `fitting` may change."""
        self.notes.append(text)
        if column:
            self.inferred.add(column)

    def wrong(self, code: str, message: str, fix: str) -> None:
        """Add a problem of the row, once; the row is refused after all problems are collected."""
        finding = Finding(code, message, fix)
        if finding not in self.problems:
            self.problems.append(finding)
