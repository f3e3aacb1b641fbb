"""`wright lab campaign`: the lab brought up and built, faults planted, healed, scored, and a page of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._show import say
from clusterwright.errors import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, WrightError

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.lab.chaos.kind import Planned
    from clusterwright.lab.chaos.score import Score

SCHEMA = 1


def campaign(file: Path, *, seed: int, faults: int, only: tuple[str, ...], out: Path) -> int:
    """0 when every fault of the campaign has become what it should."""
    from clusterwright.config.load import load_cluster
    from clusterwright.edge.clock import SystemClock
    from clusterwright.lab import up
    from clusterwright.lab.chaos.asked import Wright
    from clusterwright.lab.chaos.story import Campaign, healing
    from clusterwright.provision.apply import apply, remote_of

    cluster, drawn = load_cluster(file), _drawn(seed, faults, only)
    if cluster.lab is None:
        raise WrightError.of(
            "campaign-not-a-lab",
            f"{file} is not the file of a lab: a campaign kills hosts",
            "give a file with the section `lab`",
            exit_code=EXIT_USAGE,
        )
    up(cluster, say=say)
    remote = remote_of(cluster)
    if wrong := [host.host for host in apply(cluster, str(file), remote).hosts if not host.ok]:
        raise WrightError.of("campaign-apply", f"apply failed on {', '.join(wrong)}", f"wright apply {file}")
    out.mkdir(parents=True, exist_ok=True)
    scores: list[Score] = []
    try:
        with healing(file, out / "heal.log"):
            for score in Campaign(cluster, remote, Wright(file), SystemClock(), say).run(drawn):
                scores.append(score)
                _write(out, scores, seed, len(drawn), cluster)
    finally:
        say(f"page: {out / 'campaign.html'}" if scores else "no fault was planted")
    return EXIT_DONE if all(score.good for score in scores) else EXIT_FAILED


def _drawn(seed: int, faults: int, only: tuple[str, ...]) -> tuple[Planned, ...]:
    from clusterwright.lab.chaos.kind import draw, kinds

    known = kinds()
    if strange := set(only) - set(known):
        message, mend = f"there is no kind `{min(strange)}`", f"name some of: {', '.join(known)}"
        raise WrightError.of("campaign-kind", message, mend, exit_code=EXIT_USAGE)
    return draw(seed, faults, {name: known[name] for name in known if not only or name in only})


def _write(out: Path, scores: list[Score], seed: int, wanted: int, cluster: Cluster) -> None:
    """Whole, after each fault: a campaign that is ended has its page, too."""
    from clusterwright.edge.files import write_whole
    from clusterwright.lab.chaos.page import page
    from clusterwright.lab.chaos.score import document, summary
    from clusterwright.lab.demo import here

    machine = here.machine()
    said = f"{len(cluster.hosts('compute'))} hosts on {machine['cores']} cores of {machine['processor']}"
    figures = {
        "schema": SCHEMA,
        "seed": seed,
        "machine": machine,
        **summary(scores),
        "each": document(scores),
    }
    write_whole(out / "campaign.json", json.dumps(figures, indent=1, default=str) + "\n")
    write_whole(out / "campaign.html", page(scores, seed, wanted, said))
