"""What is worked out of people one by one: pure functions on arrays, no table and no spec."""
