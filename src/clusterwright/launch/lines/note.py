"""A prepared job, and the notes on its launch line: what was changed in it, or what in its script cannot run."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.config.job import Job
from clusterwright.i18n import _


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence for the person who submits the job; a warning if the job will probably fail."""

    text: str
    is_warning: bool = False

    def __str__(self) -> str:
        return _("warning: {text}", text=self.text) if self.is_warning else _("note: {text}", text=self.text)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job that can be submitted, and one sentence about each change and each doubt."""

    job: Job
    notes: tuple[Note, ...] = ()
