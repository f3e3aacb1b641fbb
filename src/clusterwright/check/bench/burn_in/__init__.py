"""Hours of load: what is sampled meanwhile, and what is made of it."""
