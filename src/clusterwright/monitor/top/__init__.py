"""The whole cluster in one terminal screen; `app` needs the extra `tui`, and is imported by whoever shows it."""
