"""What each framework wants to find: one file a framework, standard library only; read at submission and in jobs."""
