"""The library inside a job: group, seeds, checkpoints, resume, events. Imports torch and nothing of ours."""
