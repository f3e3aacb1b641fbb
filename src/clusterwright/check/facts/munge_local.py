"""A munge round trip on the host itself."""

from __future__ import annotations

from clusterwright.check.fact import fact

_ANY = tuple(range(16))  # munge(1) and unmunge(1) exit with an error number below 16


@fact("sh", "-c", "munge -n 2>&1 | unmunge 2>&1", codes=_ANY)
def munge_local(out: str) -> str:
    """Result of encoding and decoding a credential on the host: `Success`, or munge's message."""
    line = next((line for line in out.splitlines() if line.startswith("STATUS:")), "")
    message = line.partition(":")[2].rpartition("(")[0].strip() or out.strip().splitlines()[0]
    if not line and not message.startswith(("munge", "unmunge")):
        raise ValueError(message)
    return message
