"""Cost of failures, compared with other systems; see README.md in this folder and docs/endure.md."""
