"""The planner's charts, and the page that holds them."""
