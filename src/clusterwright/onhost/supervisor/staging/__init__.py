"""Data of a training copied to each host's own disk before the ranks start. Standard library only."""
