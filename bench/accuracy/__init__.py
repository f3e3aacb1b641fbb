"""How well the planner predicts what others measured; `python -m bench.accuracy` writes docs/accuracy.md."""
