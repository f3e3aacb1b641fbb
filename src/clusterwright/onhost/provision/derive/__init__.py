"""Programs that derive a file on the host from the cluster file and the host's hardware.

One module each: `text(host, given, notes)` returns the file's text, or None if the host shall not have the file;
it appends remarks for the reader to `notes`. Standard library only, Python 3.6 or later; nothing is changed.
"""
