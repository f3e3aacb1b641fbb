"""The interfaces of launchers and frameworks; standard library only, used at submission and in jobs."""
