"""Statistics on arrays of counts and sums, each with its paper.

- `distributions`: quantiles and tails of the normal, t and χ² distributions;
- `proportions`: intervals of one and two proportions;
- `power`: the smallest gap that a number of people can show;
- `contingency`: tests of tables of people by outcome and group;
- `mover`: intervals of differences, ratios and sums from the intervals of their parts;
- `means`: intervals and tests of means from their sums of squares;
- `ranks`: areas under the curve and rank tests from histograms;
- `strata`: Mantel–Haenszel and its company, over strata;
- `multiplicity`: p-values, levels and intervals where many comparisons are made.

Undefined is NaN; no warning escapes. SciPy is imported where it is called: it takes a while.
"""
