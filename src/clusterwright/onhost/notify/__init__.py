"""A program for the control host: alerts to chat rooms, and a word where monitoring itself falls silent.

Standard library only, Python 3.10 or later; it lies on the host beside what jobs import.
"""
