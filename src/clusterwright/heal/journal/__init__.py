"""What was seen and done, in a file that a kill at any moment leaves whole."""

from clusterwright.heal.journal.journal import Entry, Journal

__all__ = ["Entry", "Journal"]
