"""Which rank failed first, with which words, and whether it was its host."""
