"""Programs that work out a file on the host, from what the cluster file says and what the host has.

One module a program: `text(host, given, notes)` gives the file's text, or None where the host shall have no such
file. What a reader should know goes to `notes`. Standard library only, Python 3.6 or later; nothing is changed.
"""
