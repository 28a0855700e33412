"""Counting with Polars: cells, scores, sums, people one by one, quantiles and repeated rows."""
