"""One module for each rendered file: a function from cluster to text, without side effects."""
