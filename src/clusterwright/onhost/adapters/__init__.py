"""What launchers and frameworks have in common; standard library only, read at submission and in jobs."""
