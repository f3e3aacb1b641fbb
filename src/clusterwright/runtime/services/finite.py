"""Numbers that are not finite: all ranks hear of it before the optimiser does, and do the same about it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.distributed as dist

from clusterwright.runtime.events import Events
from clusterwright.runtime.group import Group

POLICIES = ("stop", "skip", "ignore")
_SKIPS = (
    10  # in a row: weights that are spoilt themselves give nothing else, and skipping would go on for ever
)


@dataclass(frozen=True)
class Found:
    """What was not finite in a step, and on which ranks."""

    step: int
    what: str
    ranks: tuple[int, ...]
    values: tuple[str, ...]

    @property
    def words(self) -> str:
        """For people, with the first of the ranks."""
        more = f" and {len(self.ranks) - 1} more" if len(self.ranks) > 1 else ""
        return f"{self.what} is {self.values[0]} on rank {self.ranks[0]}{more} in step {self.step}"


class Finite:
    """Looks at each step's numbers; `policy` is what to do about those that are not finite."""

    def __init__(self, joined: Group, log: Events, policy: str) -> None:
        if policy not in POLICIES:
            raise ValueError(f"on_nan {policy}: it is {', '.join(POLICIES)}")
        self._group, self._log, self.policy = joined, log, policy
        self._skipped = 0
        self._seen = 0
        self._unseen: tuple[int, str, float] | None = None

    def look(self, step: int, loss: float, norm: float | None) -> Found | None:
        """What is not finite on any rank, before the weights take it in; all ranks look together."""
        self._seen = step
        if math.isfinite(loss) and norm is not None and not math.isfinite(norm):
            return self._gather((step, "the norm of the gradients", norm))
        return self._gather(None if math.isfinite(loss) else (step, "the loss", loss))

    def stops(self, found: Found | None) -> bool:
        """Write down what was found; whether the training ends over it."""
        if found is None:
            self._skipped = 0
            return False
        self._skipped += 1
        return self._write(found, stop=self.policy == "stop" or self._skipped > _SKIPS)

    def unseen(self, loss: float, step: int) -> bool:
        """Whether the weights have taken in a loss that was not finite and that nobody looked at."""
        if self.policy != "ignore" and self._seen != step and not math.isfinite(loss):
            self._unseen = self._unseen or (step, "the loss", loss)
        return bool(self._unseen)

    def agreed(self) -> Found | None:
        """What was not seen in time, on any rank; whatever the policy, there is nothing left but to stop."""
        found = None if self.policy == "ignore" else self._gather(self._unseen)
        if found:
            self._write(found, stop=True)
        return found

    def _gather(self, own: tuple[int, str, float] | None) -> Found | None:
        bad = torch.tensor([int(own is not None)])
        dist.all_reduce(bad, dist.ReduceOp.MAX, group=self._group.control)
        if not bad.item():
            return None
        said = self._group.gather(own)
        step, what, _ = min(each for each in said if each)
        alike = [(rank, each[2]) for rank, each in enumerate(said) if each and each[:2] == (step, what)]
        return Found(step, what, tuple(rank for rank, _ in alike), tuple(str(value) for _, value in alike))

    def _write(self, found: Found, *, stop: bool) -> bool:
        what, ranks, values, then = found.what, found.ranks, found.values, "stop" if stop else "skip"
        self._log.record("nan", step=found.step, what=what, ranks=ranks, values=values, then=then)
        self._log.say(f"{found.words}: {'the training ends' if stop else 'its update is dropped'}")
        return stop
