"""Copies of a rank's state in memory that outlives it."""
