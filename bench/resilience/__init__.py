"""What failures cost, against other systems; see README.md here and docs/endure.md."""
