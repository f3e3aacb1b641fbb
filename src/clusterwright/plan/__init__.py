"""The planner: hardware to buy, parallel layouts, cost, memory and speed of trainings. No input or output."""
