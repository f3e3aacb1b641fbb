"""Evidence out of logs, whatever their packing, size and prefixes."""

from clusterwright.why.reading.finding import found
from clusterwright.why.reading.read import read
from clusterwright.why.reading.source import Source, of_bytes, of_text

__all__ = ["Source", "found", "of_bytes", "of_text", "read"]
