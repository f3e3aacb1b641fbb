"""Copy a training's data to each host's own disk before the ranks start. Standard library only."""
