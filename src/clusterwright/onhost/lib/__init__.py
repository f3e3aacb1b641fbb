"""Shared by all programs on hosts: files, processes, JSON lines (standard library, Python 3.6)."""
