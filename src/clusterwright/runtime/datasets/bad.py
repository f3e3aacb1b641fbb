"""Unreadable samples: an error that names the sample, and a dataset that skips them on request."""

from __future__ import annotations

from typing import Any

from torch.utils.data import Dataset


class BadSampleError(ValueError):
    """An unreadable sample, with file, index and reason as a single string, so that it can be pickled by workers."""

    @classmethod
    def from_sample(cls, path: object, number: int, reason: object) -> BadSampleError:
        """Return the error for a bad sample of a file, with path, index and reason in its message."""
        return cls(f"{path}: sample {number}: {reason}")


class Tolerant(Dataset[Any]):
    """A dataset that returns the next readable sample for a bad one, the same on each rank and after a resume.

    `report` is called once with a message for each bad sample (in the worker that read it); more than `most` of them
    raise ValueError.
    """

    def __init__(self, dataset: Any, *, most: int = 100, report: Any = print) -> None:
        self._dataset, self._most, self._report = dataset, most, report
        self.bad: set[int] = set()

    def __len__(self) -> int:
        return len(self._dataset)

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the wrapped dataset."""
        return str(self._dataset.fingerprint)

    def __getitem__(self, number: int) -> Any:
        for index in range(number, number + len(self)):
            try:
                return self._dataset[index % len(self)]
            except BadSampleError as error:
                self._note(index % len(self), error)
        raise ValueError("no sample of the dataset can be read")

    def _note(self, number: int, reason: BadSampleError) -> None:
        if number in self.bad:
            return
        self.bad.add(number)
        self._report(f"skipping a bad sample: {reason}")
        if len(self.bad) > self._most:
            raise ValueError(f"more than {self._most} bad samples; the last: {reason}") from reason
