"""The models that the recipes train, each a file to read."""
