"""Which pictures a report shows, and what they say in words: results in, figures out."""

from fairaudit.report.figures.curves import curves
from fairaudit.report.figures.lattice import lattice
from fairaudit.report.figures.people import people
from fairaudit.report.figures.rates import rates
from fairaudit.report.figures.reversals import slopes
from fairaudit.report.figures.strata import by_stratum
from fairaudit.report.figures.subgroups import subgroups

__all__ = ["by_stratum", "curves", "lattice", "people", "rates", "slopes", "subgroups"]
