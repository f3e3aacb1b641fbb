"""Parsers of measuring programs' output; each is pure, and reads the formats of several versions."""
