"""In-memory checkpoints: replicas of a rank's state in memory that outlives the rank."""
