"""Find settings that make a cluster faster, by experiment: the knobs, the search, and the result."""
