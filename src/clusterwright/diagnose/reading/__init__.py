"""Evidence out of logs, whatever their packing, size and prefixes."""

from clusterwright.diagnose.reading.finding import find_sources
from clusterwright.diagnose.reading.read import read
from clusterwright.diagnose.reading.source import Source, of_bytes, of_text

__all__ = ["Source", "find_sources", "of_bytes", "of_text", "read"]
