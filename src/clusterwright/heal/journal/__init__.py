"""The journal of polls and actions, in an SQLite file that a kill at any time leaves consistent."""

from clusterwright.heal.journal.journal import Entry, Journal

__all__ = ["Entry", "Journal"]
