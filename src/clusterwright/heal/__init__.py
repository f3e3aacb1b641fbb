"""Self-healing: from a diagnosis to an intent, and from an intent to an executed action."""
