"""Statistics on arrays of counts and sums, each with its paper.

- `distributions`: quantiles and tails of the normal, t and χ² distributions;
- `proportions`: intervals of one and two proportions, and of what is computed from them;
- `pooling`: shares that borrow strength from other groups, or from people nearby;
- `sample_sizes`: effective sizes, and the smallest gap that a number of people can show;
- `contingency`: tests of tables of people by outcome and group;
- `means`: intervals and tests of means from their sums of squares;
- `score_statistics`: calibration, areas under the curve and rank tests from histograms;
- `strata`: Mantel–Haenszel and its company, over strata;
- `multiplicity`: p-values, levels and intervals where many comparisons are made.

Undefined is NaN; no warning escapes. SciPy is imported where it is called: it takes a while.
"""
