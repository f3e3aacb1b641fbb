"""Measurements of speed, memory and accuracy: `python -m bench` lists them, `python -m bench NAME` runs one."""
