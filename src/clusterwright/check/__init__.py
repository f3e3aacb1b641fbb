"""Proof, node by node: facts read once per host, one expectation per file, a Verdict each."""
