"""Computations for metrics of individuals, on arrays of people, without tables or specs."""
