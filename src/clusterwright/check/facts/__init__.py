"""Facts of a host: one command or probe and its parser per module."""
