"""The checks of the plug-in: one a file; the name of the file is the name of the check."""
