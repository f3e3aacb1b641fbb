"""Why a job waits, when it may start, and the one change that starts it; values in, values out."""

from clusterwright.why.pending.explain import explain
from clusterwright.why.pending.facts import Facts
from clusterwright.why.pending.waiting import Change, Waiting, Words

__all__ = ["Change", "Facts", "Waiting", "Words", "explain"]
