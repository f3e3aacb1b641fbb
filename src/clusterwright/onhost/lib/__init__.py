"""What every program on a host leans on: files, processes, JSON lines (standard library, Python 3.6)."""
