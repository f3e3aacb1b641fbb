"""The launchers of the plug-in: one a file, which is sent to hosts (Python 3.8, standard library)."""
