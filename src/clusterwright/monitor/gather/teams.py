"""Teams: what sshare says of each account, and what its jobs hold and wait for; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from clusterwright.monitor.gather.slurm_text import number
from clusterwright.monitor.picture import JobView, Team
from clusterwright.slurm.states import is_pending


def teams(text: str, jobs: Iterable[JobView], shares: Mapping[str, float]) -> tuple[Team, ...]:
    """Accounts of sshare's answer; without one, those of the cluster file and of jobs."""
    held, running, waiting = Counter[str](), Counter[str](), Counter[str]()
    for job in jobs:
        if is_pending(job.state):
            waiting[job.account] += 1
        else:
            running[job.account] += 1
            held[job.account] += job.gpus
    said = _said(text)
    names = said or dict.fromkeys(
        [*shares, *sorted({*running, *waiting} - {""} - shares.keys())], (None, None, None)
    )
    return tuple(
        Team(
            name,
            shares.get(name) if share is None else share,
            used,
            fairshare,
            held[name],
            running[name],
            waiting[name],
        )
        for name, (share, used, fairshare) in names.items()
    )


def _said(text: str) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Share, use and fair share by account. With fair trees only users have the last: the best of them is shown."""
    heads, *lines = text.splitlines() or [""]
    columns = [head.strip() for head in heads.split("|")]
    rows = [dict(zip(columns, line.split("|"), strict=False)) for line in lines]
    best: dict[str, float] = {}
    for row in rows:
        name, factor = row.get("Account", "").strip(), number(row.get("FairShare"))
        if row.get("User") and factor is not None:
            best[name] = max(factor, best.get(name, 0.0))
    found = {}
    for row in rows:
        name = row.get("Account", "").strip()
        if name and name != "root" and not row.get("User", "").strip():
            own = number(row.get("FairShare"))
            used = number(row.get("EffectvUsage"))
            found[name] = (number(row.get("NormShares")), used, best.get(name) if own is None else own)
    return found
