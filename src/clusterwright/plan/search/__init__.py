"""All layouts of a training on so many GPUs, ranked."""
