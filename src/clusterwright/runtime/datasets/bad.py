"""Samples that cannot be read: named, and passed over only where the job says so."""

from __future__ import annotations

from typing import Any

from torch.utils.data import Dataset


class BadSampleError(ValueError):
    """What is wrong with which sample of which file; of one text, so that a worker's reaches its rank as it is."""

    @classmethod
    def from_sample(cls, path: object, number: int, why: object) -> BadSampleError:
        """That sample of that file."""
        return cls(f"{path}: sample {number}: {why}")


class Tolerant(Dataset[Any]):
    """A dataset in which the next good sample stands for a bad one: the same on every rank and after a resume.

    `report` is called with each bad sample once (in the worker that read it); more than `most` of them are an error
    after all: a folder that has gone bad is no data.
    """

    def __init__(self, dataset: Any, *, most: int = 100, report: Any = print) -> None:
        self._dataset, self._most, self._report = dataset, most, report
        self.bad: set[int] = set()

    def __len__(self) -> int:
        return len(self._dataset)

    @property
    def fingerprint(self) -> str:
        """That of the dataset."""
        return str(self._dataset.fingerprint)

    def __getitem__(self, number: int) -> Any:
        for index in range(number, number + len(self)):
            try:
                return self._dataset[index % len(self)]
            except BadSampleError as error:
                self._note(index % len(self), error)
        raise ValueError("not one sample of the data can be read")

    def _note(self, number: int, why: BadSampleError) -> None:
        if number in self.bad:
            return
        self.bad.add(number)
        self._report(f"bad sample passed over: {why}")
        if len(self.bad) > self._most:
            raise ValueError(f"more than {self._most} bad samples; the last one: {why}") from why
