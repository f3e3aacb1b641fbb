"""Trainings on machines without a scheduler, or inside the allocation of any scheduler: agents start over plain SSH."""
