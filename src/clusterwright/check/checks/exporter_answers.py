"""The host's own exporter answers, and so do all that it asks."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.exporter import exporter
from clusterwright.check.verdict import Verdict


def _off(want: Want) -> str:
    return "" if want.cluster.monitoring.exporter else "the cluster file has it off (monitoring.exporter)"


@check(
    exporter,
    unless=_off,
    mend="journalctl -u clusterwright-exporter on the host says why a collector gives no answer",
)
def exporter_answers(_want: Want, have: dict[str, bool] | str) -> Verdict:
    """Our exporter answers on the management address to who has a certificate, and each of its collectors works."""
    wanted = "the exporter on port 9105, all its collectors at work (monitoring.exporter)"
    answers = isinstance(have, dict)
    silent = ", ".join(name for name, up in have.items() if not up) if isinstance(have, dict) else str(have)
    saw = f"no answer from: {silent}" if silent and answers else silent or f"{len(have)} collectors"
    return expect(answers and not silent, saw=saw, want=wanted)
