"""What became slowly worse in a run, as lines for the failure modes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.diagnose.reading import LogSource, of_text


def decay_sources(findings: Iterable[tuple[str, str]]) -> Iterator[LogSource]:
    """Yield a log source for each (host, text), a value of the run that became slowly worse; a host may be empty."""
    for host, text in findings:
        yield of_text("steps and samples of the run", f"decay: {text}", kind="metric", host=host)
