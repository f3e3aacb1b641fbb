"""Checkpoints: saved asynchronously and atomically, verified when read."""
