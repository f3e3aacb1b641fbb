"""Settings that make a cluster faster, found by experiment: what may be set, the search, and what it concludes."""
