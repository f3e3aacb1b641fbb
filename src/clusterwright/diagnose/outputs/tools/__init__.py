"""The readers of outputs, one file for each tool."""
