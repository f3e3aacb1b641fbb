"""Find the ranks of a running job for which all others wait, from stack samples of its ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from clusterwright.diagnose.reading import LogSource, of_text
from clusterwright.edge.bundler import RANK_STACKS
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote, fan_out
from clusterwright.onhost.lib.safe_reader import parse_document

MOST_HOSTS = 64  # hosts that are sampled; of a larger job, the first ones
LIMIT_S = 60.0
_MAX_RANKS = 4  # ranks that are reported


class RankState(NamedTuple):
    """State of a rank; `location` and `collective` are empty unless they were equal in all samples."""

    host: str
    rank: str
    state: str
    kernel: str
    location: str
    collective: str


def live(remote: Remote, hosts: Sequence[str], job: str) -> tuple[LogSource, ...]:
    """Sample the ranks of a running job; return a source with a line for each that is stuck while others wait for it.

    Empty if there is none, or if the ranks cannot be sampled.
    """
    answers = fan_out(
        hosts[:MOST_HOSTS], lambda host: Host(remote, host).run_program(RANK_STACKS, job, timeout_s=LIMIT_S)
    )
    rank_states = [
        rank_state for host, result in answers.items() for rank_state in parse_rank_states(host, result.out)
    ]
    lines = compared(rank_states)
    return (of_text("ranks as they stand", "\n".join(lines), kind="live"),) if lines else ()


def parse_rank_states(host: str, text: str) -> Iterator[RankState]:
    """Yield the state of each rank in the samples that a host returned."""
    entries: Any = []
    with suppress(ValueError):
        entries = parse_document(text or "[]")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("samples"), list) and entry["samples"]:
            yield _rank_state(host, str(entry.get("rank", "?")), entry["samples"])


def _rank_state(host: str, rank: str, samples: Sequence[Mapping[str, str]]) -> RankState:
    last, first_sample = samples[-1], samples[0]
    is_stuck = all(sample.get("place") == first_sample.get("place") for sample in samples)
    waits = all(sample.get("collective") for sample in samples)
    location = str(last.get("place", "")) if is_stuck else ""
    collective = str(last.get("collective", "")) if is_stuck and waits else ""
    return RankState(
        host, rank, str(last.get("state", "")), str(last.get("kernel", "")), location, collective
    )


def compared(rank_states: Sequence[RankState]) -> list[str]:
    """Return lines about ranks that are stuck outside any collective while all others wait in one.

    Empty if a rank outside makes progress, or if they are more than twice as many as those that wait; at most
    _MAX_RANKS lines.
    """
    waiting = [rank_state for rank_state in rank_states if rank_state.collective]
    lagging = [rank_state for rank_state in rank_states if not rank_state.collective]
    if not waiting or not lagging or len(lagging) >= len(waiting) + len(lagging) // 2 + 1:
        return []
    if any(not rank_state.location and rank_state.state not in {"D", "T"} for rank_state in lagging):
        return []  # one of these ranks makes progress
    wait_text = f"{len(waiting)} wait for it in {waiting[0].collective} at {waiting[0].location}"
    return [
        f"live: rank {rank_state.rank} on {rank_state.host} {_describe_state(rank_state)}; {wait_text}"
        for rank_state in lagging[:_MAX_RANKS]
    ]


def _describe_state(rank_state: RankState) -> str:
    if rank_state.state == "T":
        return "is stopped"
    if rank_state.state == "D":
        return f"waits in the kernel (state D, {rank_state.kernel or '?'})"
    return f"stands at {rank_state.location}"
