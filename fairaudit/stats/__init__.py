"""Statistics on arrays of counts and sums, each with its paper.

- `distributions`: quantiles and tails of the normal, t and χ² distributions;
- `proportions`: intervals of shares, and of their differences, ratios and odds ratios;
- `pooling`: shares estimated with the help of other groups, or of people with similar values;
- `sample_sizes`: effective sizes, and the smallest gap that a number of people can show;
- `contingency`: tests of tables of people by outcome and group;
- `means`: intervals and tests of means from their sums of squares;
- `score_statistics`: calibration, areas under the curve and rank tests from histograms;
- `strata`: Mantel–Haenszel and related statistics, over strata;
- `multiplicity`: p-values, levels and intervals where many comparisons are made.

Undefined results are NaN, without a warning. SciPy is slow to import, so it is imported when used.
"""
