"""Accuracy of the planner on published measurements; `python -m bench.accuracy` writes docs/accuracy.md."""
