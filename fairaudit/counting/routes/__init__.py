"""Counting with Polars: cells, scores, sums, rows, and how partial counts merge."""
