"""Rules of a cluster file."""
