"""Launch, supervise and resume trainings."""
