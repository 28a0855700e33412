"""Counting with the C kernel: CSV and Parquet."""
