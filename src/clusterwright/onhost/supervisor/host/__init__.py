"""The processes of one host: fork server, ranks and stores, and how none of them is left behind."""
