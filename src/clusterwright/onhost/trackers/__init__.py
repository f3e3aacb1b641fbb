"""Sends a run's metrics to experiment trackers, one module each (standard library, Python 3.8).

A tracker is a process beside the supervisor, so a training neither waits for it nor fails with it. It reads the events
in the run's folder; the training script needs no change.
"""
