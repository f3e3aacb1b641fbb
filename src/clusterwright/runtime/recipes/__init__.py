"""Real trainings that use the runtime."""
