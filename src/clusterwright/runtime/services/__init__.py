"""What a loop may ask for: mesh, precision, pieces of a batch, clipping, policies, pauses."""
