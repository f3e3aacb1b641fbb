"""What a run writes about itself, told to a tracker of experiments: one file for each (standard library, Python 3.8).

A tracker is a process beside the supervisor, so a training neither waits for it nor ends with it. It reads the events
in the run's folder; the script needs not know of it.
"""
