"""Programs on hosts that start a step in a container image: sent as text, standard library only, Python 3.6."""
