"""Errors, names, records, arrays, notices, progress, memory and processes."""
