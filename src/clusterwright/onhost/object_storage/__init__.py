"""Uploads of checkpoints in object storage (S3): uploaded after their verification, restored where none is local."""
