"""Results of decoding every host's credential on the control host."""

from __future__ import annotations

from clusterwright.check.fact import fact, texts
from clusterwright.check.facts.munge_credential import munge_credential


@fact(probe="unmunge", depends_on=munge_credential, limit_s=15)  # 3 ms a credential: thousands of hosts
def munge_decoded(out: str) -> dict[str, str]:
    """By host: `Success` if the control host decoded its credential, else munge's message."""
    return texts(out)
