"""The cells of one row of a run table: read by name, with what was inferred and what is wrong kept beside."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from clusterwright.errors import Finding
from clusterwright.i18n import _

# What a prediction may look at. Measured columns are not among them: a row with its measurements
# deleted, or replaced by nonsense, gives the same prediction.
SHAPE = ("model", "params_b", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq_len")
MACHINE = ("gpu_type", "num_gpus", "gpus_per_node", "interconnect")
BATCH = ("global_batch", "micro_batch")
PARALLELISM = ("tp", "pp", "interleave", "dp_or_fsdp", "cp", "zero_stage", "recompute", "ep")
TEXT_COLUMNS = ("source", "precision", "task", "notes_url")
COLUMNS = (*SHAPE, *MACHINE, *BATCH, *PARALLELISM, *TEXT_COLUMNS)


# More than anyone has, by a factor of ten and more: beyond it is a slip, and formulas need not be asked.
LARGEST = {
    "layers": 10_000, "heads": 100_000, "kv_heads": 100_000, "hidden": 10**6, "tp": 10**5, "pp": 10**4,
    "size_bytes": 10**15,
}  # fmt: skip
_LARGEST = 10**9
_WORDY = {*TEXT_COLUMNS, "model", "recompute"}  # "none" says something there
_BLANK = {"-", "--", "?", "n/a", "na", "nan", "none", "null", "unknown", "auto"}


def _cell(column: str, text: str | None) -> str:
    """The cell without blanks around it; what stands for a blank elsewhere is one."""
    cell = (text or "").strip()
    return "" if column not in _WORDY and cell.lower() in _BLANK else cell


@dataclass
class Cells:
    """One row; `notes` gathers what was inferred, `problems` what makes it unusable."""

    row: dict[str, str]
    notes: list[str] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    inferred: set[str] = field(default_factory=set)  # columns whose value is a choice of ours

    @cached_property
    def full_text(self) -> str:
        """How the data are parallel, the source, the model's name and the notes, as one text."""
        return " ; ".join(
            self.row[name] for name in ("dp_or_fsdp", "source", "model", "recompute", "notes_url")
        )

    @classmethod
    def from_row(cls, row: dict[str, str]) -> Cells:
        """Only the columns a prediction may look at; a missing one is blank."""
        return cls({name: _cell(name, row.get(name)) for name in COLUMNS})

    def text(self, column: str) -> str:
        """The words of a cell; "" where blank."""
        return self.row[column]

    def integer(self, column: str) -> int | None:
        """A whole number above zero; None where blank, and where it is none (which is a problem)."""
        value = self.number(column)
        if value is None:
            return None
        if value > LARGEST.get(column, _LARGEST):
            self.wrong(
                "predict-not-a-size",
                _("{column} is {row}, more than any that exists", column=column, row=self.row[column]),
            )
            return None
        if value < 1 or value != int(value):
            self.wrong(
                "predict-not-a-size",
                _(
                    "{column} is {row}, which is not a whole number above 0",
                    column=column,
                    row=self.row[column],
                ),
            )
            return None
        return int(value)

    def positive(self, column: str) -> float | None:
        """A number above zero; None where blank, and where it is none (which is a problem)."""
        value = self.number(column)
        if value is None or value > 0:
            return value
        self.wrong(
            "predict-not-a-size",
            _("{column} is {row}, which is not above 0", column=column, row=self.row[column]),
        )
        return None

    def number(self, column: str) -> float | None:
        """A finite number; None where blank, and where it is none (which is a problem)."""
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
                _("{column} is `{row}`, which is not a number", column=column, row=self.row[column]),
            )
            return None
        return value

    def note(self, text: str, column: str = "") -> None:
        """Say what was inferred, and how; a column whose value is a mere choice may still be chosen otherwise."""
        self.notes.append(text)
        if column:
            self.inferred.add(column)

    def wrong(self, code: str, message: str, fix: str = "correct the row") -> None:
        """Keep a problem; the row is refused when all of them are known."""
        finding = Finding(code, message, fix)
        if finding not in self.problems:
            self.problems.append(finding)
