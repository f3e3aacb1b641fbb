"""Who waits for whom in a job that runs: its ranks say where they stand, and what they say is compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from clusterwright.diagnose.reading import Source, of_text
from clusterwright.edge.bundler import RANK_STACKS
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote, fan_out

MOST_HOSTS = 64  # that are asked; of a larger job the first ones
LIMIT_S = 60.0
_SHOWN = 4  # ranks that are named


class Stand(NamedTuple):
    """Where a rank stood at every look; empty where it moved."""

    host: str
    rank: str
    state: str
    kernel: str
    place: str
    collective: str


def live(remote: Remote, hosts: Sequence[str], job: str) -> tuple[Source, ...]:
    """One source with a line for each finding; none where the ranks move, or say nothing."""
    answers = fan_out(
        hosts[:MOST_HOSTS], lambda host: Host(remote, host).run_program(RANK_STACKS, job, timeout_s=LIMIT_S)
    )
    stands = [stand for host, done in answers.items() for stand in told(host, done.out)]
    lines = compared(stands)
    return (of_text("ranks as they stand", "\n".join(lines), kind="live"),) if lines else ()


def told(host: str, text: str) -> Iterator[Stand]:
    """What a host said of its ranks."""
    found: Any = []
    with suppress(ValueError):
        found = json.loads(text or "[]")
    for each in found if isinstance(found, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("looks"), list) and each["looks"]:
            yield _stand(host, str(each.get("rank", "?")), each["looks"])


def _stand(host: str, rank: str, looks: Sequence[Mapping[str, str]]) -> Stand:
    last, first = looks[-1], looks[0]
    still = all(look.get("place") == first.get("place") for look in looks)
    waits = all(look.get("collective") for look in looks)
    place = str(last.get("place", "")) if still else ""
    collective = str(last.get("collective", "")) if still and waits else ""
    return Stand(host, rank, str(last.get("state", "")), str(last.get("kernel", "")), place, collective)


def compared(stands: Sequence[Stand]) -> list[str]:
    """Ranks that stand still outside of any collective while all others wait in one."""
    waiting = [one for one in stands if one.collective]
    others = [one for one in stands if not one.collective]
    if not waiting or not others or len(others) >= len(waiting) + len(others) // 2 + 1:
        return []
    if any(not one.place and one.state not in {"D", "T"} for one in others):
        return []  # one of them is at work
    where = f"{len(waiting)} wait for it in {waiting[0].collective} at {waiting[0].place}"
    return [f"live: rank {one.rank} on {one.host} {_stands(one)}; {where}" for one in others[:_SHOWN]]


def _stands(one: Stand) -> str:
    if one.state == "T":
        return "is stopped"
    if one.state == "D":
        return f"waits in the kernel (state D, {one.kernel or '?'})"
    return f"stands at {one.place}"
