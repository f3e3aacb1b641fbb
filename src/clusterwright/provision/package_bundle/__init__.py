"""Package bundles, for hosts without a network: gathered where there is one, checked, and copied to hosts over SSH."""
