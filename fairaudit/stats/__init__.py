"""Statistics on counts and sums, each with its paper; arrays in, arrays out.

- `normal`: quantiles and tails of the standard normal distribution;
- `proportions`: intervals and tests of one, two and paired proportions, and of tables;
- `mover`: intervals of differences, ratios and sums from the intervals of their parts;
- `means`: intervals and tests of means from their sums of squares;
- `ranks`: areas under the curve and rank tests from histograms;
- `strata`: Mantel–Haenszel and its company, over strata;
- `simultaneous`: intervals of a maximum over pairs of groups;
- `families`: p-values and levels where many comparisons are made;
- `permutation`: tests by drawing who is selected again;
- `regression`: least squares from sums of products;
- `power`: what a comparison of so many people is able to show.

Undefined is NaN; no warning escapes. SciPy is imported where it is called: it takes a while.
"""
