"""Computations of row metrics on arrays of people, without tables or specs."""
