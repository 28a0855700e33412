"""Bibliography: the papers and rules that define the metrics. Add a citation here."""

from __future__ import annotations

from fairaudit.base.frozen import Frozen


class Citation(Frozen):
    """The source of a definition."""

    authors: str
    year: int
    url: str = ""

    def __str__(self) -> str:
        return f"{self.authors} ({self.year})" + (f", {self.url}" if self.url else "")


AGARWAL = Citation("Agarwal, Dudík & Wu, Fair Regression", 2019, "https://arxiv.org/abs/1905.12843")
AEQUITAS = Citation("Saleiro et al., Aequitas", 2018, "https://arxiv.org/abs/1811.05577")
AIF360 = Citation("Bellamy et al., AIF360", 2018, "https://arxiv.org/abs/1810.01943")
ARMITAGE = Citation("Armitage", 1955, "https://doi.org/10.2307/3001775")
ATKINSON = Citation("Atkinson, On the measurement of inequality", 1970)
BERK = Citation("Berk et al.", 2018, "https://arxiv.org/abs/1703.09207")
BEUTEL = Citation("Beutel et al.", 2019, "https://arxiv.org/abs/1901.04562")
BOYD = Citation("Boyd, Eng & Page", 2013, "https://doi.org/10.1007/978-3-642-40994-3_29")
BRIER = Citation("Brier", 1950)
BRODERSEN = Citation("Brodersen et al.", 2010, "https://doi.org/10.1109/ICPR.2010.764")
CALDERS = Citation("Calders et al., Controlling attribute effect", 2013)
CHOULDECHOVA = Citation("Chouldechova", 2017, "https://arxiv.org/abs/1703.00056")
COHEN = Citation("Cohen, Statistical Power Analysis for the Behavioral Sciences", 1988)
CORBETT = Citation("Corbett-Davies et al.", 2017, "https://arxiv.org/abs/1701.08230")
COX = Citation("Cox", 1958, "https://doi.org/10.1093/biomet/45.3-4.562")
CRAMER = Citation("Cramér, Mathematical Methods of Statistics", 1946)
DWORK = Citation("Dwork et al.", 2012, "https://arxiv.org/abs/1104.3913")
FAIRLEARN = Citation("Weerts et al., Fairlearn", 2023, "https://arxiv.org/abs/2303.16626")
FELDMAN = Citation("Feldman et al.", 2015, "https://arxiv.org/abs/1412.3756")
FOULDS = Citation("Foulds & Pan", 2020, "https://arxiv.org/abs/1807.08362")
FOULDS_BAYES = Citation("Foulds, Islam, Keya & Pan", 2020, "https://arxiv.org/abs/1811.07255")
FUKUCHI = Citation("Fukuchi, Sakuma & Kamishima", 2013)
GAJANE = Citation("Gajane & Pechenizkiy", 2018, "https://arxiv.org/abs/1710.03184")
GALHOTRA = Citation("Galhotra, Brun & Meliou", 2017, "https://arxiv.org/abs/1709.03221")
GILL = Citation("Gill, Hall, Montgomery & Schmidt", 2020, "https://doi.org/10.3390/info11030137")
GOODMAN = Citation("Goodman & Kruskal", 1954, "https://doi.org/10.2307/2281536")
GUO = Citation("Guo et al.", 2017, "https://arxiv.org/abs/1706.04599")
HANLEY = Citation("Hanley & McNeil", 1982, "https://doi.org/10.1148/radiology.143.1.7063747")
HARDT = Citation("Hardt, Price & Srebro", 2016, "https://arxiv.org/abs/1610.02413")
HEBERT_JOHNSON = Citation("Hébert-Johnson et al.", 2018, "https://arxiv.org/abs/1711.08513")
HEIDARI = Citation("Heidari et al.", 2018, "https://arxiv.org/abs/1806.04959")
HOSMER = Citation("Hosmer & Lemeshow", 1980, "https://doi.org/10.1080/03610928008827941")
KAMIRAN = Citation("Kamiran, Žliobaitė & Calders", 2013)
KLEINBERG = Citation("Kleinberg, Mullainathan & Raghavan", 2016, "https://arxiv.org/abs/1609.05807")
KULLBACK = Citation("Kullback & Leibler", 1951, "https://doi.org/10.1214/aoms/1177729694")
MANTEL = Citation("Mantel & Haenszel", 1959, "https://doi.org/10.1093/jnci/22.4.719")
LEVIN = Citation("Levin, Peres & Wilmer, Markov Chains and Mixing Times, §4.1", 2009)
LL144 = Citation("New York City, 6 RCNY § 5-300", 2023)
MANCUHAN = Citation("Mancuhan & Clifton, Combating discrimination using Bayesian networks", 2014)
LUONG = Citation(
    "Luong, Ruggieri & Turini, k-NN as an implementation of situation testing",
    2011,
    "https://doi.org/10.1145/2020408.2020488",
)
MLHEALTH = Citation("Allen et al., fairMLHealth: Evaluating Fairness", 2021)
PEDRESCHI = Citation("Pedreschi, Ruggieri & Turini, Discrimination-aware data mining", 2008)
RIJSBERGEN = Citation("van Rijsbergen, Information Retrieval", 1979)
SPEICHER = Citation("Speicher et al.", 2018, "https://arxiv.org/abs/1807.00787")
STEYERBERG = Citation("Steyerberg, Clinical Prediction Models", 2019)
ZLIOBAITE = Citation("Žliobaitė", 2015, "https://arxiv.org/abs/1511.00148")
THEIL = Citation("Theil, Economics and Information Theory", 1967)
UGESP = Citation("EEOC et al., Uniform Guidelines on Employee Selection, 29 CFR 1607.4(D)", 1978)
VERMA = Citation("Verma & Rubin", 2018, "https://doi.org/10.1145/3194770.3194776")
WACHTER = Citation("Wachter, Mittelstadt & Russell", 2021, "https://arxiv.org/abs/2005.05906")
ZEMEL = Citation("Zemel, Wu, Swersky, Pitassi & Dwork, Learning Fair Representations", 2013)
