"""The rank that failed first, its error message, and whether its host is at fault."""
