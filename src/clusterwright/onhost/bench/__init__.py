"""Programs that run on the hosts of a bench: scripts for Python 3.8 or later, most with the standard library only."""
