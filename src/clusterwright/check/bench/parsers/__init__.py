"""What measuring programs print, as values; each parser is pure, and takes the forms of several versions."""
