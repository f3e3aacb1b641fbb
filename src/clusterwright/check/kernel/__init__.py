"""The kernel log: Xids, faults and harmless lines as TOML data with typed readers, and pure functions to judge them."""
