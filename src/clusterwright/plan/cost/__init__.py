"""Cost of owned and rented GPU clusters: energy, spot prices, goodput."""
