"""Why a job waits, when it may start, and the one change that starts it; values in, values out."""

from clusterwright.diagnose.pending.explain import explain
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.waiting import Change, Message, Waiting

__all__ = ["Change", "Facts", "Message", "Waiting", "explain"]
