"""The models of the recipes, one per file."""
