"""What a cluster measures: judged by what is declared and by its own fleet, bisected to the part, remembered."""
