"""Faults from the whole catalogue, planted in a seeded order under running trainings, and a score of each."""
