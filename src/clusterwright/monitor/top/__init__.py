"""The screen of `wright top`; `app` needs the extra `tui`, so only the command imports it."""
