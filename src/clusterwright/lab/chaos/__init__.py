"""Fault campaigns: inject faults of every kind in a seeded order during trainings, and score each recovery."""
