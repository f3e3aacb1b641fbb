"""Detection of losses and norms that are not finite, on all ranks before the optimizer step, and its policies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.distributed as dist

from clusterwright.runtime.events import Events
from clusterwright.runtime.group import Group

POLICIES = ("stop", "skip", "ignore")
_SKIPS = 10  # consecutive steps: with NaN in the weights every loss is NaN, and skipping would never end


@dataclass(frozen=True)
class NonFinite:
    """A value that was not finite in a step: `quantity`, on which ranks, and its values there."""

    step: int
    quantity: str
    ranks: tuple[int, ...]
    values: tuple[str, ...]

    @property
    def message(self) -> str:
        """Return a sentence about the value that was not finite, with its first rank."""
        more = f" and {len(self.ranks) - 1} more" if len(self.ranks) > 1 else ""
        return f"{self.quantity} is {self.values[0]} on rank {self.ranks[0]}{more} in step {self.step}"


class Finite:
    """Checks each step's loss and norm; `policy` is stop, skip or ignore."""

    def __init__(self, joined: Group, log: Events, policy: str) -> None:
        if policy not in POLICIES:
            raise ValueError(f"on_nan={policy}: must be one of {', '.join(POLICIES)}")
        self._group, self._log, self.policy = joined, log, policy
        self._skipped = 0
        self._checked_step = 0
        self._unseen: tuple[int, str, float] | None = None

    def check(self, step: int, loss: float, norm: float | None) -> NonFinite | None:
        """Return which of loss and norm is not finite on any rank, the loss before the norm; None if both are.

        `norm` None is not checked. Collective; call before the optimizer step.
        """
        self._checked_step = step
        if math.isfinite(loss) and norm is not None and not math.isfinite(norm):
            return self._gather((step, "the norm of the gradients", norm))
        return self._gather(None if math.isfinite(loss) else (step, "the loss", loss))

    def stops(self, problem: NonFinite | None) -> bool:
        """Record the problem; return True if it ends the training, by policy or after 10 skipped steps in a row.

        False for None.
        """
        if problem is None:
            self._skipped = 0
            return False
        self._skipped += 1
        return self._write(problem, stop=self.policy == "stop" or self._skipped > _SKIPS)

    def unseen(self, loss: float, step: int) -> bool:
        """Store a loss that is not finite, if it was not checked before its update and the policy is not ignore.

        Return True if there was one in this step or an earlier one.
        """
        if self.policy != "ignore" and self._checked_step != step and not math.isfinite(loss):
            self._unseen = self._unseen or (step, "the loss", loss)
        return bool(self._unseen)

    def agreed(self) -> NonFinite | None:
        """Return a loss or norm of any rank that was not finite and not checked in time, or None; collective.

        None also if such values are ignored. It is recorded as an event; the caller stops.
        """
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
        quantity, ranks, values, action = (
            problem.quantity,
            problem.ranks,
            problem.values,
            "stop" if stop else "skip",
        )
        self._log.record(
            "nan", step=problem.step, quantity=quantity, ranks=ranks, values=values, action=action
        )
        self._log.log_line(f"{problem.message}: {'the training stops' if stop else 'its update is skipped'}")
        return stop
