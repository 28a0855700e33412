"""The audit: from a spec and its data to a result."""
