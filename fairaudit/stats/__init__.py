"""Statistics on arrays of counts and sums; each function cites the paper of its method.

- `distributions`: quantiles and tails of the normal, t and χ² distributions;
- `proportions`: intervals of shares, and of their differences, ratios and odds ratios;
- `pooling`: shares estimated with data of other groups, or of people with similar values;
- `sample_sizes`: effective sample sizes, and the smallest gap that a test detects;
- `contingency`: tests of tables of people by outcome and group;
- `means`: intervals and tests of means from their sums of squares;
- `score_statistics`: calibration, areas under the curve and rank tests from histograms;
- `strata`: Mantel–Haenszel and related statistics, over strata;
- `multiplicity`: p-values, levels and intervals for many comparisons.

Undefined results are NaN, without a warning. SciPy is slow to import, so it is imported when used.
"""
