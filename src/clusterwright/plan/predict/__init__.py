"""Rows of measured runs in, predictions out; what a row leaves blank is inferred, and said."""
