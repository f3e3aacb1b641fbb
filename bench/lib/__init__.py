"""Code that several measurements share."""
