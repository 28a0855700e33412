"""Counting: from a plan to counts of the data; knows no spec, no metric and no limit."""
