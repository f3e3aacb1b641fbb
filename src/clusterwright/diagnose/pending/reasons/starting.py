"""Explain that the job has its nodes and has not started yet, or that Slurm is still cleaning up after it."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import AT_NEXT_CYCLE, Waiting
from clusterwright.i18n import _


@reason("Prolog")
def prolog(facts: Facts) -> Waiting:
    """Explain that the job waits for the prolog, which runs on its hosts; propose no change."""
    cause = _(
        "The prolog is running on {hosts}; if it takes long, see `journalctl -u slurmd` there.",
        hosts=facts.job["NodeList"],
    )
    return Waiting("prolog", cause, _("when the prolog has ended"))


@reason("Cleaning|SystemFailure|FrontEndDown|NonZeroExitCode|RaisedSignal|Preempt|FedJobLock|BurstBuffer")
def passing(facts: Facts) -> Waiting:
    """Explain that a state of Slurm, such as cleaning up, delays the start and ends by itself; propose no change."""
    token = facts.job["Reason"]
    cause = _("A state that ends by itself delays the start ({reason}).", reason=token)
    return Waiting(token.partition(":")[0].lower(), cause, _(AT_NEXT_CYCLE))
