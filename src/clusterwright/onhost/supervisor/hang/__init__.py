"""Detection of hung ranks: their progress pages, limits of standstill, and the examination that proves a hang."""
