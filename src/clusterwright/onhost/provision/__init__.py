"""The one stdlib-only script that runs on a host."""
