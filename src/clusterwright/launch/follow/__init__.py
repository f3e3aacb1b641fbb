"""Follow a running training on the terminal: its logs, and a line of progress."""
