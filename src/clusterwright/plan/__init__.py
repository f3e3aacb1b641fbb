"""What to buy, how to cut the model, what it costs and how fast it will be. Pure."""
