"""Services for a training loop: mesh, precision, gradient accumulation, clipping, NaN policy, pauses."""
