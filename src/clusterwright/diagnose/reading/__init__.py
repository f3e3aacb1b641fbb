"""Read logs of any compression, size and line prefix into observations."""

from clusterwright.diagnose.reading.finding import find_sources
from clusterwright.diagnose.reading.read import read
from clusterwright.diagnose.reading.source import LogSource, of_bytes, of_text

__all__ = ["LogSource", "find_sources", "of_bytes", "of_text", "read"]
