"""Facts as data: GPUs, NICs, switches, models, software matrix, prices, each row with its source."""
