"""A training as it goes on: its logs in one order, and how far, how fast and how well it is.

Files named `far_` are sent to the host that has the run's folder (standard library, Python 3.8).
"""
