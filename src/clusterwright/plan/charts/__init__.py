"""The planner's pictures, as one self-contained page."""
