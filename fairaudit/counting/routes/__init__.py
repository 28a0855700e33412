"""Counting with Polars: cells, scores, sums, searches, rows, and how partial counts merge."""
