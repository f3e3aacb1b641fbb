"""GPUs one by one: expected rates of the model, and comparison with GPUs of the same model."""
