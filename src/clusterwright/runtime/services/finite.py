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
class NonFinite:
    """What was not finite in a step, and on which ranks."""

    step: int
    what: str
    ranks: tuple[int, ...]
    values: tuple[str, ...]

    @property
    def message(self) -> str:
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
        self._checked_step = 0
        self._unseen: tuple[int, str, float] | None = None

    def check(self, step: int, loss: float, norm: float | None) -> NonFinite | None:
        """What is not finite on any rank, before the weights take it in; all ranks look together."""
        self._checked_step = step
        if math.isfinite(loss) and norm is not None and not math.isfinite(norm):
            return self._gather((step, "the norm of the gradients", norm))
        return self._gather(None if math.isfinite(loss) else (step, "the loss", loss))

    def stops(self, problem: NonFinite | None) -> bool:
        """Write down what was found; whether the training ends over it."""
        if problem is None:
            self._skipped = 0
            return False
        self._skipped += 1
        return self._write(problem, stop=self.policy == "stop" or self._skipped > _SKIPS)

    def unseen(self, loss: float, step: int) -> bool:
        """Whether the weights have taken in a loss that was not finite and that nobody looked at."""
        if self.policy != "ignore" and self._checked_step != step and not math.isfinite(loss):
            self._unseen = self._unseen or (step, "the loss", loss)
        return bool(self._unseen)

    def agreed(self) -> NonFinite | None:
        """What was not seen in time, on any rank; whatever the policy, there is nothing left but to stop."""
        problem = None if self.policy == "ignore" else self._gather(self._unseen)
        if problem:
            self._write(problem, stop=True)
        return problem

    def _gather(self, local_problem: tuple[int, str, float] | None) -> NonFinite | None:
        bad = torch.tensor([int(local_problem is not None)])
        dist.all_reduce(bad, dist.ReduceOp.MAX, group=self._group.control)
        if not bad.item():
            return None
        reports = self._group.gather(local_problem)
        step, quantity, _ = min(report for report in reports if report)
        alike = [
            (rank, report[2])
            for rank, report in enumerate(reports)
            if report and report[:2] == (step, quantity)
        ]
        return NonFinite(
            step, quantity, tuple(rank for rank, _ in alike), tuple(str(value) for _, value in alike)
        )

    def _write(self, problem: NonFinite, *, stop: bool) -> bool:
        quantity, ranks, values, then = (
            problem.what,
            problem.ranks,
            problem.values,
            "stop" if stop else "skip",
        )
        self._log.record("nan", step=problem.step, what=quantity, ranks=ranks, values=values, then=then)
        self._log.log_line(f"{problem.message}: {'the training ends' if stop else 'its update is dropped'}")
        return stop
