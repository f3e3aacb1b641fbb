"""Time and bus bandwidth of collectives, fitted on published nccl-tests."""
