"""From a diagnosis to an intent, and the intent done."""
