"""One training on more and more hosts: how it scales, and which host slows it down."""
