"""Search over all parallel layouts of a model on a machine. Needs numpy."""
