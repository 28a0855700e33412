"""Variance of shares in clusters (sandwich), as effective sizes; the fewest clusters required.

The residual of a cluster with n people and y hits is `y - p n`: its hits minus the hits that are
expected at the share p. The variance of a share is the variance of these residuals (linearisation).
If two shares have common clusters (such as both sides of matched pairs), their covariance is the
covariance of their residuals. Rao & Scott (1992), A simple method for the analysis of clustered
binary data, Biometrics 48:577.

In the small-sample factor and the degrees of freedom, clusters of unequal size count as n² / Σ n_c²
clusters: Carter, Schnepel & Steigerwald (2017), Asymptotic behavior of a t-test robust to cluster
heterogeneity, Review of Economics and Statistics 99:698.

If the sample has declared strata, residuals vary about the mean of their stratum (as if the first
stage were sampled with replacement): Särndal, Swensson & Wretman (1992), Model Assisted Survey
Sampling, section 5.7. In a stratum with a single cluster, the residual varies about the mean of all
residuals, which is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.frozen import Frozen, memoize, replace
from fairaudit.cube import ClusteredTable, Clusters
from fairaudit.stats.sample_sizes import small_sample_factor

FEWEST_CLUSTERS = 10
"""The fewest effective clusters for a variance."""
_FEWEST_WITH_HITS = 8
"""The fewest effective clusters with hits (and with misses) that show how similar members are."""
_ROUNDED = 1e-9
_BROKEN = 1e-6
"""If all people weigh the same, a number of members differs from an integer at most by this."""

Slots: TypeAlias = tuple[tuple[int, ...], ...]
"""The number of times that each cell [Y, P] (label, class) of a table counts in a sum."""


class PooledClusters(Frozen, eq=False):
    """Counts of people by cluster, for single groups or for several groups together.

    Each count is `everybody` times the people of all `known` [G] groups plus `own` times the people
    of one group. This group is `index` [Z, 1], or each group in its own column if `index` is None.
    `cells` maps the name of a cell to marks of the labels [Y] and of the classes [P] in the cell.
    """

    table: ClusteredTable
    cells: Mapping[str, tuple[Marks, Marks]]
    known: Marks
    everybody: int = 0
    own: int = 1
    index: Ints | None = None

    def at(self, index: Ints) -> PooledClusters:
        """The single group `index` [Z, 1] in each stratum, repeated for every group."""
        return replace(self, everybody=0, own=1, index=index)

    def together(self, *, others: bool) -> PooledClusters:
        """All people in the stratum or, with `others`, all people outside the group itself."""
        return replace(self, everybody=1, own=-1 if others else 0)

    def slots(self, cells: Sequence[str]) -> Slots:
        """The number of times that each cell of the table counts in a sum of named cells."""
        times = sum(np.outer(*self.cells[cell]).astype(np.int64) for cell in cells)
        return tuple(map(tuple, np.asarray(times).tolist()))

    def sum_by_row(self, slots: Slots) -> Any:  # noqa: ANN401  # a sparse matrix
        """The people in the cells of `slots` per row (stratum, cluster): sparse [rows, ZG]."""
        from scipy import sparse  # noqa: PLC0415  # SciPy is only needed for clusters

        strata, _, _, groups = self.table.shape
        columns = np.arange(strata * groups)
        own = np.arange(groups) if self.index is None else self.index
        places = np.broadcast_to(columns[::groups, None] + own, (strata, groups)).reshape(-1)
        taken = self.own * sparse.csr_matrix((np.ones(len(columns)), (places, columns)))
        taken.resize((len(columns),) * 2)
        if self.everybody:
            every = np.repeat(self.known[:, None], groups, axis=1).astype(np.float64)
            taken = taken + self.everybody * sparse.kron(sparse.identity(strata), every)
        return _sum_groups_by_row(self.table, slots) @ taken.tocsr()


class ClusteredShare(Frozen, eq=False):
    """A share of people in clusters, and the sum of its squared residuals, [Z, G].

    `over` counts the cells of the hits, and `under` the cells of all people. The standard error may
    be raised to the standard error of independent rows, or of pairs within clusters. `floored` is
    the original standard error divided by the raised one: from 0 to 1, and 1 if nothing was raised.
    """

    clusters: PooledClusters
    over: Slots
    under: Slots
    value: Floats
    squares: Floats
    floored: Floats

    @classmethod
    def of(
        cls, clusters: PooledClusters, over: Slots, under: Slots, share: Floats, size: Floats
    ) -> tuple[ClusteredShare, Floats]:
        """A share, and its effective size [Z, G]: the number of equally precise independent rows.

        The effective size is NaN with too few clusters. Unless the sample has strata, the effective
        size is at most `size` (the size of independent rows), because clusters can by chance differ
        less than rows. It is also at most the size for members who are as similar as pairs within
        clusters, because large clusters can agree by chance. If few clusters have hits, or few have
        misses, the variance is at least the variance of clusters whose members are all equal. A
        share of 0 or 1 also has this variance. Few clusters give an inaccurate variance, so
        Student's t replaces the normal distribution (Korn & Graubard 1998, Surv Methodol 24:193).
        """
        strata = _strata_of_rows(clusters.table)
        hits, trials = clusters.sum_by_row(over), clusters.sum_by_row(under)
        people, squares_of_trials, squares_of_hits, squares_of_misses = (
            np.asarray(sums.sum(axis=0)).reshape(share.shape)
            for sums in (trials, trials.power(2), hits.power(2), (trials - hits).power(2))
        )
        largest = trials.max(axis=0).toarray().reshape(share.shape)
        df = strata.degrees_of_freedom(trials).reshape(share.shape)
        most = np.full_like(size, np.inf)
        if strata.members is None:
            most = np.fmin(size, find_exchangeable_size(hits, trials, share, size))
        residuals = _subtract_expected(hits, trials, share)
        squares = strata.sum_products(residuals, residuals).reshape(share.shape)
        # CR2 with the largest leverage; the factor is m / (m - 1) for m clusters of equal size.
        variance = squares / people**2 / (1 - np.fmin(largest / people, 1.0))
        with_both = people**2 * np.fmin(
            share**2 / squares_of_hits, (1 - share) ** 2 / squares_of_misses
        )
        varies = (share > 0) & (share < 1) & (variance > 0)
        raw = np.where(varies, share * (1 - share) / variance, np.inf)
        alike = ~((share > 0) & (share < 1)) | (with_both < _FEWEST_WITH_HITS)
        raw = np.where(alike, np.fmin(raw, people**2 / squares_of_trials), raw)
        floored = np.sqrt(np.minimum(most / raw, 1.0))
        effective = np.minimum(most, raw) * small_sample_factor(df)
        effective = np.where(has_few_clusters(df + 1), np.nan, effective)
        floored = np.where(np.isnan(floored), 1.0, floored)
        return cls(clusters, over, under, share, squares, floored), effective

    @property
    def residuals(self) -> Any:  # noqa: ANN401  # a sparse matrix
        """The hits of each row minus the hits that are expected at the share: sparse [rows, ZG]."""
        hits, trials = map(self.clusters.sum_by_row, (self.over, self.under))
        return _subtract_expected(hits, trials, self.value)

    def at(self, index: Ints) -> ClusteredShare:
        """The share of the group `index` [Z, 1] in each stratum, repeated for every group."""
        value, squares, floored = (
            np.broadcast_to(np.take_along_axis(part, index, axis=1), part.shape)
            for part in (self.value, self.squares, self.floored)
        )
        return ClusteredShare(
            self.clusters.at(index), self.over, self.under, value, squares, floored
        )

    def correlation(self, other: ClusteredShare) -> Floats:
        """The correlation of two shares over their common clusters, [Z, G].

        A positive correlation makes the difference of the shares more certain. It is multiplied by
        `floored` of both shares, because the standard errors were raised.
        """
        strata = _strata_of_rows(self.clusters.table)
        products = strata.sum_products(self.residuals, other.residuals)
        r = products.reshape(self.value.shape) / np.sqrt(self.squares * other.squares)
        r = np.clip(np.where(np.isfinite(r), r, 0.0), -1.0, 1.0)
        return np.where(r > 0, r * self.floored * other.floored, r)

    def least_correlation(self, among: Marks) -> Floats:
        """The lowest correlation of any two groups that take part, [Z, 1]; at most 0."""
        from scipy import sparse  # noqa: PLC0415  # SciPy is only needed for clusters

        scale = np.where(among & (self.squares > 0), 1 / np.sqrt(self.squares), 0.0)
        strata = _strata_of_rows(self.clusters.table)
        scaled = strata.append_sums(self.residuals @ sparse.diags(scale.reshape(-1)))
        r = (scaled.T @ sparse.diags(strata.weights) @ scaled).tocoo()
        apart, lowest = r.row != r.col, np.zeros(len(among))
        np.minimum.at(lowest, r.row[apart] // among.shape[1], np.clip(r.data[apart], -1.0, 0.0))
        return lowest[:, None]


def _subtract_expected(hits: Any, trials: Any, share: Floats) -> Any:  # noqa: ANN401  # a sparse matrix
    from scipy import sparse  # noqa: PLC0415  # SciPy is only needed for clusters

    return hits - trials @ sparse.diags(np.nan_to_num(share).reshape(-1))


def find_exchangeable_size(hits: Any, trials: Any, share: Floats, size: Floats) -> Floats:  # noqa: ANN401  # sparse matrices
    """The effective size if any two members of a cluster are equally correlated, [Z, G].

    The correlation is estimated from pairs of members of one cluster. For clusters of equal size,
    the result equals the effective size from residuals. With unequal weights, the result is NaN,
    because the number of members is unknown.
    """
    from scipy import sparse  # noqa: PLC0415  # SciPy is only needed for clusters

    def total(by_row: Any) -> Floats:  # noqa: ANN401  # a sparse matrix
        return np.asarray(by_row.sum(axis=0)).reshape(share.shape)

    weight = total(trials) / size
    by_weight = sparse.diags(np.nan_to_num(1 / weight).reshape(-1))
    hits, members = hits @ by_weight, trials @ by_weight
    several, broken = members.copy(), members.copy()
    with np.errstate(divide="ignore"):
        several.data = np.where(members.data > 1, 1 / (members.data - 1), 0.0)
    broken.data = np.abs(members.data - np.rint(members.data)) > _BROKEN
    differ = total(hits.multiply(members - hits).multiply(several))
    expected = share * (1 - share) * total(members.multiply(several > 0))
    alike = np.where(expected > 0, np.clip(1 - differ / expected, 0.0, 1.0), 0.0)
    squares = total(members.power(2))
    return np.where(total(broken) > 0, np.nan, size**2 / (size + alike * (squares - size)))


def has_few_clusters(clusters: Floats) -> Marks:
    """Marks effective numbers of clusters that are too small to estimate a variance."""
    return np.asarray(clusters < FEWEST_CLUSTERS - _ROUNDED)


class AveragedShare(Frozen, eq=False):
    """An average [1, G] of shares: its effective size, and its correlation with the other side."""

    effective_n: Floats
    with_other: Floats


def class_effective_n(clusters: PooledClusters, counts: Floats, n: Ints, among: Marks) -> Floats:
    """An effective size of every group that is valid for all classes, [Z, G].

    `counts` [Z, K, G] is the number of people in each class, and `n` [Z, G] the number of all
    people. The effective size for each class is divided by 1 minus the lowest correlation of two
    groups in `among`. The smallest quotient is returned; NaN with few clusters.
    """
    _, size_y, size_p, _ = clusters.table.shape
    classes = counts.shape[1]
    under = counts.sum(axis=1)
    sizes = n.astype(np.float64)
    for k in range(classes):
        over, whole = (
            tuple((tuple(int(p in counted) for p in range(size_p)),) * size_y)
            for counted in ({k}, {*range(classes)})
        )
        value = counts[:, k] / under
        share, size = ClusteredShare.of(clusters, over, whole, value, n.astype(np.float64))
        sizes = np.minimum(sizes, size / (1 - share.least_correlation(among)))
    return sizes


class ClusterEntries(Frozen, eq=False):
    """The entries of a table's clusters; a row is a pair (stratum, cluster).

    Each entry has a `row`, a `column` (stratum, group), a `slot` (label, class) and a `mass`. For
    each row, `stratum` and `cluster` are the two members of the pair.
    """

    row: Ints
    column: Ints
    slot: Ints
    mass: Floats
    stratum: Ints
    cluster: Ints


@memoize
def read_entries(table: ClusteredTable) -> ClusterEntries:
    """The entries of a table's clusters, by stratum, cluster and cell."""
    clusters = table.clusters
    _, _, classes, groups = table.shape
    places = table.place[clusters.cell]
    inside = places >= 0
    z, y, p, g = np.unravel_index(places[inside], table.shape)
    rows, row = np.unique(z * clusters.count + clusters.code[inside], return_inverse=True)
    mass = clusters.mass[inside]
    if table.kept is not None:
        mass = mass * table.kept[y]
    stratum_and_cluster = np.divmod(rows, max(clusters.count, 1))
    return ClusterEntries(row, z * groups + g, y * classes + p, mass, *stratum_and_cluster)


@memoize
def _sum_groups_by_row(table: ClusteredTable, slots: Slots) -> Any:  # noqa: ANN401  # a sparse matrix
    """The number of people in the cells of `slots`, for each row (stratum, cluster): [rows, ZG]."""
    from scipy import sparse  # noqa: PLC0415  # SciPy is only needed for clusters

    strata, _, _, groups = table.shape
    entries = read_entries(table)
    mass = entries.mass * np.array(slots, dtype=np.float64).reshape(-1)[entries.slot]
    counted = mass != 0
    places = (entries.row[counted], entries.column[counted])
    return sparse.csr_matrix((mass[counted], places), shape=(len(entries.stratum), strata * groups))


class StrataOfRows(Frozen, eq=False):
    """The strata of the sample that contain the rows (stratum, cluster) of a table.

    `members`, sparse [strata, rows], marks the rows in each stratum of the sample. None if
    the sample has no declared strata. `units` is the number of clusters that were drawn in each
    stratum. `all_units` is the number that were drawn in all strata together.
    """

    rows: int
    members: Any = None
    units: Floats = np.ones(0)
    all_units: int = 1

    @property
    def _factor(self) -> Floats:
        """The factor m / (m - 1) of a stratum with m clusters; 1 for a single cluster."""
        return np.where(self.units > 1, self.units / np.maximum(self.units - 1, 1), 1.0)

    @property
    def weights(self) -> Floats:
        """The factors in a sum of products: of each row, then of each sum that `append_sums` adds.

        The factor for the number of all clusters is left out, because `ClusteredShare.of` divides
        by one minus the leverage, which contains this factor.
        """
        if self.members is None:
            return np.ones(self.rows)
        factor = self._factor * (1 - 1 / self.all_units)
        mean = np.where(self.units > 1, factor / self.units, 0.0)
        return np.concatenate([self.members.T @ factor, -mean])

    def append_sums(self, totals: Any) -> Any:  # noqa: ANN401  # a sparse matrix
        """Totals by row [rows, columns], followed by their sums in each stratum of the sample."""
        from scipy import sparse  # noqa: PLC0415  # SciPy is only needed for clusters

        if self.members is None:
            return totals.tocsr()
        return sparse.vstack([totals, self.members @ totals]).tocsr()

    def sum_products(self, first: Any, second: Any) -> Floats:  # noqa: ANN401  # a sparse matrix
        """Σ (first - mean)(second - mean) for each column, with the mean of each stratum."""
        products = self.append_sums(first).multiply(self.append_sums(second))
        return np.asarray(products.T @ self.weights)

    def degrees_of_freedom(self, sizes: Any) -> Floats:  # noqa: ANN401  # a sparse matrix
        """The degrees of freedom [columns] for cluster sizes [rows, columns].

        They are the number of effective clusters minus 1. With declared strata, they are
        Satterthwaite's degrees of freedom, as if each residual were as large as its cluster. If all
        clusters have the same size, they are then the number of clusters minus the number of
        strata.
        """
        from scipy import sparse  # noqa: PLC0415  # SciPy is only needed for clusters

        sizes = sparse.csr_matrix(sizes)
        squares = sizes.power(2)
        if self.members is None:
            clusters = np.asarray(sizes.sum(axis=0)) ** 2 / np.asarray(squares.sum(axis=0))
            return np.asarray(clusters).reshape(-1) - 1
        second, fourth = self.members @ squares, self.members @ squares.power(2)
        several = self.units > 1
        of_each = np.where(several, self._factor**2 * (1 - 2 / self.units), 1.0)
        of_sums = np.where(several, (self._factor / self.units) ** 2, 0.0)
        parts = sparse.diags(of_each) @ fourth + sparse.diags(of_sums) @ second.power(2)
        df = np.asarray(second.sum(axis=0)) ** 2 / np.asarray(parts.sum(axis=0))
        return np.asarray(df).reshape(-1)


@memoize
def _strata_of_rows(table: ClusteredTable) -> StrataOfRows:
    entries = read_entries(table)
    return read_sample_strata(table.clusters, entries.cluster, entries.stratum)


def read_sample_strata(clusters: Clusters, cluster: Ints, stratum: Ints | int = 0) -> StrataOfRows:
    """The strata of the sample that contain rows of `cluster`, separately for each `stratum`."""
    from scipy import sparse  # noqa: PLC0415  # SciPy is only needed for clusters

    if clusters.strata is None:
        return StrataOfRows(len(cluster))
    units = clusters.strata.units
    place = stratum * len(units) + clusters.strata.of_cluster[cluster]
    there, row = np.unique(place, return_inverse=True)
    members = sparse.csr_matrix((np.ones(len(row)), (row, np.arange(len(row)))))
    of_strata = units[there % len(units)].astype(np.float64)
    return StrataOfRows(len(cluster), members, of_strata, int(units.sum()))
