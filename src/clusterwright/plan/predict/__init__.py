"""Predictions for rows of a table of runs; blank cells are inferred, with a note."""
