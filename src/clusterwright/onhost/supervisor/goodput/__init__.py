"""Goodput accounting: every second of every GPU in one bin, from the events alone."""
