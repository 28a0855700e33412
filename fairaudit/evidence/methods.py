"""Names of the interval and the test of each metric; the glossary of methods for `explain`.

The name of the interval of a metric is the method that its worked example uses. To explain a new
name, add an entry to `METHODS`. `fairaudit explain NAME` prints the entry, and the page of each
metric shows the entries of its interval and its test.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, reduce

from fairaudit.base.errors import did_you_mean
from fairaudit.base.frozen import Frozen
from fairaudit.evidence.clusters_and_pairs import has_extreme_interval
from fairaudit.evidence.pair_tests import FEW_GROUPS, PAIR_METHODS
from fairaudit.evidence.records import NO_TEST_OVER_GROUPS, ONE_GROUP
from fairaudit.evidence.value_intervals import Intervals, find_intervals
from fairaudit.metrics import Disparity, GroupMetric, Metric, TableMetric
from fairaudit.metrics.citations import Citation
from fairaudit.metrics.disparities import MEAN, REMAINDER
from fairaudit.metrics.example import evaluate_example
from fairaudit.metrics.terms import EXTREME_REFERENCES
from fairaudit.stats.proportions import ODDS_RATIO_INTERVAL

FROM_INTERVAL = "from the interval (significant if it does not include the value at parity)"


def has_direct_test(disparity: Disparity) -> bool:
    """Whether the values of a disparity can be tested without their intervals, for some data."""
    return all(PAIR_METHODS.keys() & {*part.kinds} for part, _ in disparity.parts)


@cache
def _find_intervals(metric: Metric) -> list[Intervals]:
    """The intervals of the worked example: for scores and for decisions, if these differ."""
    if isinstance(metric, Disparity) and metric.per_class is not None:
        return _find_intervals(metric.per_class)
    parts = metric.parts if isinstance(metric, Disparity) else ()
    known = (True, False) if any(len({*part.kinds}) > 1 for part, _ in parts) else (True,)
    return [find_intervals(evaluate_example(metric, scored=scored)) for scored in known]


def explain_no_interval(metric: Metric, *, scored: bool = False) -> str | None:
    """Why a metric has no interval (`scored`: for scores, not decisions); None if it has one."""
    if isinstance(metric, TableMetric) and metric.interval is None:
        return f"none: {metric.no_interval}"
    found = _find_intervals(metric)[0 if scored else -1]
    return None if found.method else found.why


def name_interval(metric: Metric) -> str:
    """The names of the interval of a metric, or the reason why it has no interval."""
    why = explain_no_interval(metric)
    if why and isinstance(metric, TableMetric) and metric.method:
        return f"if there are two outcomes, {metric.method}; otherwise {why}"
    names = dict.fromkeys(found.method or found.why for found in _find_intervals(metric))
    return why or "; for decisions, ".join(names)


def explain_no_test(metric: Metric, policy: str | None = None) -> str | None:
    """Why a metric has no test of disparity for any data; None if it has a test.

    `policy` is the policy of the reference, the group that other groups are compared with.
    """
    if isinstance(metric, GroupMetric):
        gate = ": `conclusive` compares its interval with the limit"
        has_interval = explain_no_interval(metric) is None
        return None if metric.test else ONE_GROUP + (gate if has_interval else "")
    if isinstance(metric, TableMetric):
        has_test = metric.independence is not None or metric.test
        return None if has_test else metric.no_test or explain_no_interval(metric)
    if metric.over_groups is not None:
        return NO_TEST_OVER_GROUPS
    if metric.per_class is not None:
        return explain_no_test(metric.per_class, policy)
    if metric.fold is not REMAINDER and has_direct_test(metric):
        return None
    if policy in EXTREME_REFERENCES and not has_extreme_interval(metric):
        return f"the {policy} group is chosen from the same data: `conclusive` allows for that"
    return explain_no_interval(metric)


def name_test(metric: Metric) -> str:
    """The name of the test of disparity of a metric, or the reason why it has no test."""
    if isinstance(metric, GroupMetric):
        return metric.test or f"none: {ONE_GROUP}"
    why = explain_no_test(metric)
    if why is not None:
        return f"none: {why.removeprefix('none: ')}"
    if isinstance(metric, Disparity):
        return _name_disparity_test(metric)
    of_table = f"{'G' if metric.information else 'χ² (G if p is very small)'} {FEW_GROUPS}"
    return metric.test or (FROM_INTERVAL if metric.independence is None else of_table)


def _name_disparity_test(metric: Disparity) -> str:
    if metric.per_class is not None:
        return _add(_name_disparity_test(metric.per_class), _CORRECTED.format("classes"))
    part, comparison = metric.parts[0]
    if not has_direct_test(metric):
        return FROM_INTERVAL
    if comparison.exact_in_strata is not None:
        return "Cochran–Mantel–Haenszel"
    if metric.conditional and metric.averages:
        side_test = _SIDE_TEST.format("Cochran–Mantel–Haenszel") if part.is_proportion else ""
        return f"from the interval{side_test}"
    if len(metric.parts) > 1 and metric.fold is MEAN and metric.to_reference:
        return f"from the interval{_SIDE_TEST.format('a test of both rates (Šidák)')}"
    if metric.fitted:
        return "least squares t"
    methods = [PAIR_METHODS[kind] for kind in part.kinds if kind in PAIR_METHODS]
    tests = dict.fromkeys(
        method.of_all if comparison.is_max_min else method.in_general for method in methods
    )
    test = reduce(lambda first, second: _add(first, f"For shares: {second}"), tests)
    if not PAIR_METHODS.keys() >= {*part.kinds}:
        test = _add(test, "For decisions: from the interval.")
    if metric.reference in EXTREME_REFERENCES:
        return _add(test, _TO_EXTREME)
    return _add(test, _CORRECTED.format("two rates")) if len(metric.parts) > 1 else test


_SIDE_TEST = ". If {} is significant and this test is not, a check over its limit is inconclusive"
_CORRECTED = "The p-value is corrected for the {} (Šidák)."
_TO_EXTREME = (
    "Each group is tested against every group with a higher rate (with a lower rate, if the "
    "reference is the lowest); the p-value is corrected over pairs (Tukey–Kramer)."
)


def _add(test: str, sentence: str) -> str:
    """The name of a test with a full stop, followed by a sentence."""
    return f"{test.removesuffix('.')}. {sentence}"


class Method(Frozen):
    """An interval, a test or a correction: its name in reports, and its explanation.

    `also` contains other names, which `explain` accepts and reports may print.
    """

    name: str
    means: str
    source: Citation
    also: tuple[str, ...] = ()


METHODS = (
    Method(
        "Wilson",
        "The interval of one share: all true shares that are compatible with the observed share. "
        "It stays within 0 and 1 and suits small groups.",
        Citation("Wilson", 1927, "https://doi.org/10.1080/01621459.1927.10502953"),
    ),
    Method(
        "jackknife",
        "The variance follows from how much the value would change if one person at a time were "
        "left out. If the metric uses neighbours, all other people keep their neighbours. The "
        "interval of a share or of an average precision is a Wilson interval with this variance.",
        Citation("Jaeckel, The Infinitesimal Jackknife, Bell Laboratories", 1972),
        ("jackknife of people", "Wilson, jackknife"),
    ),
    Method(
        "Newcombe",
        "The interval of a difference of two shares. It is made from the Wilson interval of each "
        "share (all true shares that are compatible with the observed one).",
        Citation("Newcombe, Stat Med 17:873", 1998),
    ),
    Method(
        "Newcombe, paired",
        "The interval of the difference between two models on the same people. It is made from the "
        "intervals of both models. The correlation of the models makes it narrower; the delta "
        "method estimates the correlation from the joint counts.",
        Citation("Newcombe, Stat Med 17:2635, method 10", 1998),
        ("MOVER, paired",),
    ),
    Method(
        "unpaired, conservative",
        "The interval of the difference between two models whose correlation is unknown. Its lower "
        "end is the lower end of one interval minus the upper end of the other; its upper end is "
        "the upper end of the first minus the lower end of the second. It is valid for every "
        "correlation.",
        Citation("Dunn, JASA 56:52", 1961),
    ),
    Method(
        "Koopman",
        "The interval of a ratio of two shares: all ratios that are compatible with the data by a "
        "chi-square test. It exists even if one of the shares is 0.",
        Citation("Koopman, Biometrics 40:513", 1984),
    ),
    Method(
        "Katz",
        "The interval of a ratio of two shares. It assumes that the logarithm of the ratio has a "
        "normal distribution. In small groups it is too narrow, so it is used only on request.",
        Citation("Katz et al., Biometrics 34:469", 1978),
    ),
    Method(
        "MOVER",
        "The interval of a sum, difference, ratio or mean of estimates. It is made from the "
        "intervals of these estimates (method of variance estimates recovery). “MOVER by each "
        "share” is the method for all other formulas: each share in turn is set to both ends of "
        "its interval, and the other shares keep their values. In an average over strata, strata "
        "with few hits (counted people) are joined (Fay & Feuer, Stat Med 16:791).",
        Citation("Zou & Donner, Stat Med 27:1693", 2008, "https://doi.org/10.1002/sim.3095"),
    ),
    Method(
        ODDS_RATIO_INTERVAL,
        "The interval of an odds ratio. It is made from the intervals of both shares on the scale "
        "of log odds. The middle of each interval is the log odds after one half is added to hits "
        "(the people that the share counts) and to misses (all others).",
        Citation("Gart, JRSS B 28:164", 1966),
    ),
    Method(
        "exact if counts are small",
        "Hits are the people that a share counts; misses are all others. If a share has fewer "
        "than 13 hits or fewer than 13 misses, its interval is the exact interval of "
        "Clopper–Pearson. The interval of a difference, ratio or odds ratio is then made from the "
        "intervals of its shares (method: MOVER). The interval of a difference or ratio is made "
        "several times. Each time, one share has an interval with more confidence, and the other "
        "share one with less. The widest result counts. A wide interval can include parity (no "
        "disparity) although p is below .05. If several intervals must be right at the same time, "
        "the threshold is higher than 13: it is 13 · (z/1.96)⁵. For all pairs, it is 2/3 · z², but "
        "at least 13. Here z is the critical value: 1.96 for a single 95 % interval.",
        Citation(
            "Donner & Zou, Stat Methods Med Res 21:347",
            2012,
            "https://doi.org/10.1177/0962280210383082",
        ),
    ),
    Method(
        "Welch",
        "The interval and the t test of the difference of two means. The variances of the groups "
        "may differ.",
        Citation("Welch, Biometrika 34:28", 1947),
    ),
    Method(
        "Welch's F",
        "A test of whether several groups have equal means. The variances of the groups may "
        "differ.",
        Citation("Welch, Biometrika 38:330", 1951),
    ),
    Method(
        "Student",
        "The interval of one mean. As a test of two means, it assumes that the groups have equal "
        "variances.",
        Citation("Student, Biometrika 6:1", 1908),
    ),
    Method(
        "HC2",
        "The interval and the t test of a coefficient of a least-squares regression. The variance "
        "may differ between groups and levels of the controls. It is estimated from the squared "
        "residuals; each is divided by 1 minus the leverage of the person (the influence on the "
        "fit). For a yes/no outcome, a small group counts up to two more hits and misses in it.",
        Citation("MacKinnon & White, J Econometrics 29:305", 1985),
        ("least squares t",),
    ),
    Method(
        "DeLong",
        "The interval of an area under the ROC curve. It follows from how each person ranks among "
        "the others.",
        Citation("DeLong, DeLong & Clarke-Pearson, Biometrics 44:837", 1988),
    ),
    Method(
        "DeLong, moderated",
        "The area is treated as a share of people. Their number is chosen so that the share has "
        "DeLong's variance; if that is 0, it is the number of people on the smaller side. DeLong's "
        "variance has a part for each side: positive and negative labels, or two groups. The part "
        "of the smaller side is at least a fraction of what Hanley & McNeil's formula gives.",
        Citation("Hanley & McNeil, Radiology 143:29", 1982),
    ),
    Method(
        "Clopper–Pearson",
        "The exact interval of one share. In groups of any size, it contains the true share at "
        "least as often as its confidence says.",
        Citation("Clopper & Pearson, Biometrika 26:404", 1934),
    ),
    Method(
        "concentration of all bins",
        "The interval of a calibration error. It reaches as far up and down from the error as "
        "chance can change the error, with all bins taken together. So the interval allows for the "
        "fact that the error is too high in small groups.",
        Citation("Borell, Invent Math 30:207", 1975),
    ),
    Method(
        "consistency resampling",
        "A test of whether a score is calibrated. Labels are drawn 9,999 times, with the scores as "
        "their probabilities. p is the share of draws in which the error is at least as large as "
        "in the data. The random seed is fixed.",
        Citation("Bröcker & Smith", 2007, "https://doi.org/10.1175/WAF993.1"),
    ),
    Method(
        "binomial over all bins",
        "An exact test of whether a score is calibrated. If it is, the positives in each bin have "
        "a binomial distribution. p is the probability that, in at least one bin of one group, the "
        "share of positives is as far from the score as in the data.",
        Citation("Šidák, JASA 62:626", 1967),
    ),
    Method(
        "permutations within bins",
        "A test of whether groups have equal shares of positives in every bin of the score. The "
        "labels of the people in a bin are exchanged at random 9,999 times. The random seed is "
        "fixed.",
        Citation("Phipson & Smyth", 2010, "https://doi.org/10.2202/1544-6115.1585"),
    ),
    Method(
        "standardised mean difference",
        "The difference between the mean of a feature in the group and its mean in the reference, "
        "in standard deviations. The difference that remains between people with equal propensity "
        "is called residual confounding.",
        Citation("Austin, Stat Med 28:3083", 2009),
        ("residual confounding", "SMD"),
    ),
    Method(
        "Wald",
        "The interval of a coefficient that is estimated by maximum likelihood: with 95 % "
        "confidence, 1.96 standard errors on each side. As a test: z is the distance from the "
        "coefficient to its best value (1 for a calibration slope, 0 for a calibration intercept), "
        "in standard errors.",
        Citation("Wald, Trans Am Math Soc 54:426", 1943),
    ),
    Method(
        "credible",
        "The interval of the values that are plausible according to a model and the data (the "
        "posterior distribution). The values below the interval have the same probability as the "
        "values above it. The name of the model follows: partial pooling or draws. “All groups "
        "together” means that the intervals of all groups hold at the same time.",
        Citation("Foulds, Islam, Keya & Pan", 2020, "https://arxiv.org/abs/1811.07255"),
        ("credible, all groups together",),
    ),
    Method(
        "Sato",
        "The interval of a difference that is averaged over strata. It is valid both for a few "
        "large strata and for many small strata.",
        Citation("Sato, Biometrics 45:1323", 1989),
    ),
    Method(
        "Robins–Breslow–Greenland",
        "The interval of the Mantel–Haenszel odds ratio. It is valid both for a few large strata "
        "and for many small strata.",
        Citation("Robins, Breslow & Greenland, Biometrics 42:311", 1986),
        ("Robins, Breslow & Greenland",),
    ),
    Method(
        "Greenland–Robins",
        "The interval of a ratio of shares that are averaged over strata. It is made for strata "
        "with few people.",
        Citation("Greenland & Robins, Biometrics 41:55", 1985),
    ),
    Method(
        "Fieller",
        "The interval of a ratio of two estimates that may depend on each other. It has no upper "
        "end if the divisor could be 0.",
        Citation("Fieller, JRSS B 16:175", 1954),
    ),
    Method(
        "delta",
        "An interval that assumes a normal distribution. The variance follows from how much the "
        "metric changes if one of the averages in its formula changes.",
        Citation("Oehlert, Am Stat 46:27", 1992),
        ("delta method",),
    ),
    Method(
        "mapped",
        "The interval is calculated for a related value, such as a ratio of shares; its two ends "
        "are then converted to the metric's scale.",
        Citation("Cox & Hinkley, Theoretical Statistics, ch. 7", 1974),
    ),
    Method(
        "both rates together",
        "The intervals of both rates hold at the same time. So the interval stays valid if the "
        "larger of the two values is chosen after looking at the data. Each interval has a higher "
        "confidence (Šidák).",
        Citation("Šidák, JASA 62:626", 1967),
        ("all classes together",),
    ),
    Method(
        "simultaneous over pairs",
        "The intervals of all pairs of groups are valid at the same time. So the interval stays "
        "valid if the pair with the largest gap is chosen after looking at the data.",
        Citation("Šidák, JASA 62:626", 1967),
    ),
    Method(
        "z",
        "A test of whether two shares are equal. It divides their difference by its standard error "
        "and compares the result with the normal distribution. The standard error is calculated "
        "from the share of both groups together (pooled). If the report calls the test “unpooled”, "
        "the standard error is calculated from the share of each group.",
        Citation("Fleiss, Levin & Paik, Statistical Methods for Rates and Proportions, 3.2", 2003),
        ("z test", "unpooled"),
    ),
    Method(
        "Fisher",
        "An exact test of whether two shares are equal. It uses the probabilities of all tables of "
        "counts that have the same totals as the observed table. It replaces z in two cases. "
        "First: an expected count (if both shares were equal) is below 5. Second: the p-value of "
        "z is below .025, and a more exact formula (saddle point; Barndorff-Nielsen, Biometrika "
        "73:307) gives a p-value that differs from it by more than 10 %.",
        Citation("Fisher, JRSS 98:39", 1935),
        ("Fisher's exact test",),
    ),
    Method(
        "mid-p",
        "A variant of Fisher's test, used by default: tables that are exactly as likely as the "
        "observed table get only half the weight.",
        Citation("Lancaster, JASA 56:223", 1961),
    ),
    Method(
        "χ²",
        "A test of whether several groups have equal shares, or equal outcomes. It compares the "
        "observed counts with the counts that would be expected if all groups were equal. If the "
        "p-value of χ² is below .01 and the p-value of G is more than twice as large, G is used "
        "instead.",
        Citation("Pearson, Phil Mag 50:157", 1900),
        ("chi-square", "chi-squared", "chi2", "Pearson"),
    ),
    Method(
        "G",
        "A likelihood-ratio test. It answers the same question as χ². Its statistic is 2 times the "
        "number of people times the mutual information (how much the group says about the "
        "outcome).",
        Citation("Wilks, Ann Math Stat 9:60", 1938),
        ("G test",),
    ),
    Method(
        "permutations",
        "A test by random groups: groups of the same sizes are drawn from all people. p is the "
        "share of draws in which the groups differ at least as much as in the data. This test is "
        "used if expected counts are small.",
        Citation("Phipson & Smyth", 2010, "https://doi.org/10.2202/1544-6115.1585"),
        ("permutation",),
    ),
    Method(
        "McNemar",
        "A test of two decisions on the same people: whether as many people change in one "
        "direction as in the other. For two groups, it tests whether the rates of both groups "
        "change by the same amount, or by the same factor.",
        Citation("McNemar, Psychometrika 12:153", 1947),
    ),
    Method(
        "Cochran–Mantel–Haenszel",
        "A test of whether group and outcome are related within the strata. Without a relation, "
        "the odds ratio is 1 in every stratum. The test is also a test of the average gap: whether "
        "the mean of the gaps, with the weights of Mantel and Haenszel, is 0.",
        Citation("Mantel & Haenszel, J Natl Cancer Inst 22:719", 1959),
        ("CMH", "Mantel–Haenszel"),
    ),
    Method(
        "Breslow–Day",
        "A test of whether the odds ratio is the same in all strata.",
        Citation("Breslow & Day, Statistical Methods in Cancer Research I", 1980),
    ),
    Method(
        "Gail–Simon",
        "A test of whether the gaps of all strata have the same direction.",
        Citation("Gail & Simon, Biometrics 41:361", 1985),
    ),
    Method(
        "Mann–Whitney",
        "A test of scores by ranks: whether a person of one group has the higher score as often as "
        "a person of the other group.",
        Citation("Mann & Whitney, Ann Math Stat 18:50", 1947),
        ("Wilcoxon",),
    ),
    Method(
        "Šidák",
        "A correction that is needed because the smallest of several p-values, or one of several "
        "intervals, is chosen after looking at the data. It is exact if these are independent.",
        Citation("Šidák, JASA 62:626", 1967),
    ),
    Method(
        "Holm",
        "A correction of several p-values. After it, the probability of one or more false alarms "
        "among them is at most alpha (the accepted rate of false alarms, .05 by default), however "
        "the tests depend on each other.",
        Citation("Holm, Scand J Stat 6:65", 1979),
    ),
    Method(
        "over pairs",
        "A correction that is needed because the pair of groups with the smallest p-value is "
        "chosen after looking at all pairs. It uses the studentized range, or Bonferroni if that "
        "gives a smaller p-value.",
        Citation("Kramer, Biometrics 12:307", 1956),
        ("Tukey–Kramer",),
    ),
    Method(
        "pairs",
        "If some groups are small, the test for all groups together covers only the large groups. "
        "Every pair of groups is then tested as well. So a very small group alone cannot make the "
        "joint test significant, and it cannot hide a difference between the large groups. Alpha "
        "(the accepted rate of false alarms) is divided: the joint test gets nine tenths, the "
        "tests of pairs get one tenth.",
        Citation("Genovese, Roeder & Wasserman, Biometrika 93:509", 2006),
        ("and pairs", "every pair"),
    ),
    Method(
        "from the interval",
        "The confidence is raised until the interval just reaches the value at parity. Then, p is "
        "1 minus this confidence.",
        Citation("Cox & Hinkley, Theoretical Statistics, ch. 7", 1974),
        ("its interval",),
    ),
    Method(
        "effective counts",
        "With survey weights, the sample size of a share is the number of people without weights "
        "that would give the same (linearised) variance. It is correct even if the weights depend "
        "on the outcome. Fisher's test rounds this number, which is an approximation.",
        Citation("Särndal, Swensson & Wretman, Model Assisted Survey Sampling, 5.7", 1992),
        ("linearised variance",),
    ),
    Method(
        "cluster-robust",
        "An interval or a test whose variance follows from the differences between clusters (rows "
        "that belong together), within declared strata if there are any. CR2 corrects the variance "
        "by the largest leverage of a cluster (its influence on the value). Without declared "
        "strata and unequal weights, the variance is at least that of members who are as similar "
        "as pairs within clusters. The degrees of freedom are the effective number of clusters "
        "minus 1. The effective number is n² / Σ n_c², with n_c people in cluster c.",
        Citation("Carter, Schnepel & Steigerwald, Rev Econ Stat 99:698", 2017),
        ("CR2",),
    ),
    Method(
        "Yates",
        "The z test of two shares, with each count half a person closer to its expected count. It "
        "is used on request.",
        Citation("Yates, JRSS Suppl 1:217", 1934),
    ),
    Method(
        "Benjamini–Hochberg",
        "A correction of several p-values. After it, the expected share of false alarms among the "
        "significant results is at most alpha (.05 by default).",
        Citation("Benjamini & Hochberg, JRSS B 57:289", 1995),
        ("BH", "FDR correction"),
    ),
)
"""All entries of the glossary."""

_BY_NAME = {word: method for method in METHODS for word in (method.name, *method.also)}


def find_method(name: str) -> Method | None:
    """The entry of a name; case, accents and punctuation do not matter (`chi-square`, `sidak`)."""
    return {_plain(word): method for word, method in _BY_NAME.items()}.get(_plain(name))


def suggest_method(name: str) -> str:
    """The name that is most similar to a text; empty if no name is similar."""
    return did_you_mean(name, _BY_NAME)


def find_methods(text: str) -> Iterator[Method]:
    """Yields the entries whose names are in a text, in order; longer names have priority."""
    longest = sorted(_BY_NAME, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in longest)
    found = (_BY_NAME[match.group()] for match in re.finditer(pattern, text))
    yield from {method.name: method for method in found}.values()


def _plain(name: str) -> str:
    """The letters and digits of a text, without case and accents."""
    letters = unicodedata.normalize("NFKD", name.casefold().replace("χ", "chi"))
    return "".join(sign for sign in letters if sign.isalnum() and sign.isascii())
