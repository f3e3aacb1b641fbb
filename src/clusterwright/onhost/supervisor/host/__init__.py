"""The processes of one host: the fork server, ranks, stores, and how they are ended without a trace."""
