"""Recipes: complete training programs that use the runtime."""
