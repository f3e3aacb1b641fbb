"""First light: the whole path on a lab, a host killed on the way, and a report of it."""
