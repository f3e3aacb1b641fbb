"""The loop of heal: poll, decide, record, act, verify."""
