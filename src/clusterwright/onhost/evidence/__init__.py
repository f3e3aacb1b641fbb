"""Evidence that a diagnosis collects on hosts: stacks, logs, metrics."""
