"""The figures to reach, one row of the page's table each."""

from __future__ import annotations

from dataclasses import dataclass

from bench.resilience import page_judges as judges
from bench.resilience.page_judges import Judge, Tell


@dataclass(frozen=True)
class Goal:
    """One row; `ours` returns our result and whether it reaches the goal, `rivals` the results of others."""

    number: int
    what: str
    aim: str
    experiment: str
    ours: Judge
    rivals: Tell = lambda _: ""


ASYNC = ("dcp.async_save, thread", "dcp.async_save, process")
GOALS = (
    Goal(1, "kill -9 of a rank to the next new step", "<= 0.6 s", "kill", judges.slowest_median(0.6), judges.others()),
    Goal(1, "the same, cold start", "<= the fastest that restarts", "kill", judges.cold_no_slower, judges.others()),
    Goal(1, "20 kills in one training", "20, 0 losses differ", "storm", judges.storm(20)),
    Goal(1, "200 kills in one training", "200, 0 losses differ", "storm", judges.storm(200)),
    Goal(2, "a rank hangs, to the next new step", "<= 4 s", "hang",
         judges.slowest_median(4.0, but=("pauses", "cost")), judges.others()),
    Goal(2, "false alarms in 10,000 steps with pauses", "0", "hang",
         judges.none_of("false_alarms", cases="pauses", steps=10_000)),
    Goal(3, "a host is lost, with a standby host", "<= 5 s", "hosts", judges.slowest_median(5.0, cases="spare"),
         judges.others("spare")),
    Goal(3, "a host is lost, fewer continue", "<= 10 s", "hosts", judges.slowest_median(10.0, cases="fewer"),
         judges.others("fewer")),
    Goal(4, "time limit or preemption to the successor's first step", "<= 15 s", "handoff",
         judges.slowest_median(15.0, but=("killed",)), judges.others()),
    Goal(5, "losses that differ, samples doubled or skipped, after 20 kills", "0", "bitwise",
         judges.none_of("differing_losses", "doubled", "skipped", cases="20 kills")),
    Goal(6, "stall of a save, relative to a memory copy", "<= 1.2", "checkpoint",
         judges.at_most(1.2, "stall_per_memcpy", but=("first", "load"))),
    Goal(6, "stall and slower steps of a save", "< DCP's asynchronous", "checkpoint", judges.total_below(ASYNC)),
    Goal(6, "a verified load, over an unverified one", "<= +10%", "checkpoint",
         judges.share_over(0.10, "ours, unverified", "load")),
    Goal(7, "loads that are silently wrong", "0", "integrity", judges.none_of("silent", "unloadable"),
         judges.silent_others),
    Goal(8, "leftovers 1 s after a kill or Ctrl-C", "0", "leftovers",
         judges.none_of("alive_1s", "ports_1s", "shared_1s"), judges.others()),
    Goal(8, "step time, all features enabled", "<= +0.5%", "overhead", judges.overhead),
    Goal(8, "import of the runtime, excluding torch", "<= 0.1 s", "overhead",
         judges.slowest_median(0.1, cases="import")),
    Goal(8, "wait for in-memory checkpoints", "<= 0.5%", "copies",
         judges.at_most(0.005, "share", form="{:.2%}")),
    Goal(8, "error of the goodput accounting", "<= 1%", "ledger",
         judges.at_most(0.01, "worst_ratio", form="{:.2%}", median=False)),
)  # fmt: skip
