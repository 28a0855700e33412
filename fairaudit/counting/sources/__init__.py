"""Readers of data: files, stores, lakes, databases, frames; the checks of CSV and Parquet."""
