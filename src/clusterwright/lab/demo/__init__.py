"""The demo: build a lab, kill a host during a training, and report the recovery."""
