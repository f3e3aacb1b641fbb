"""What a job, a team, or a whole cluster did: figures from records, and the same as text, page, table or JSON. Pure."""
