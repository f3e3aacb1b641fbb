"""What runs on the hosts of a bench: scripts of the standard library alone, for Python 3.8 or later."""
