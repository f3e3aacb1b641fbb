"""GPUs by themselves: what is expected of the model, and how equal ones are compared."""
