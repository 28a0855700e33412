"""Variance of shares in clusters (sandwich): effective sizes and numbers of clusters; the fewest.

The residual of a cluster is `y - p n`: its hits, less those expected at the share p of its n
people. The variance of a share is that of its residuals (linearisation), and so is the covariance
of two shares that have clusters in common, such as both sides of matched pairs. Rao & Scott (1992),
A simple method for the analysis of clustered binary data, Biometrics 48:577. Clusters of unequal
size count as n² / Σ n_c², in the small-sample factor and the degrees of freedom: Carter, Schnepel &
Steigerwald (2017), Asymptotic behavior of a t-test robust to cluster heterogeneity, Review of
Economics and Statistics 99:698. In declared strata of the sample residuals vary about the mean of
their stratum (with replacement, first stage): Särndal, Swensson & Wretman (1992), Model Assisted
Survey Sampling, section 5.7. A stratum of one cluster varies about the mean of all, which is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.memoize import memoize
from fairaudit.cube import ClusteredTable, Clusters
from fairaudit.stats.effective_size import small_sample_factor

FEWEST_CLUSTERS = 10
"""Of fewer effective clusters no variance is estimated."""
_FEWEST_WITH_HITS = 8
"""Where fewer effective clusters have hits, or misses, they do not show how alike members are."""
_ROUNDED = 1e-9

Slots: TypeAlias = tuple[tuple[int, ...], ...]
"""How often each cell [Y, P] of a table counts."""


class PooledClusters(Frozen, eq=False):
    """Pooled groups by their clusters: `everybody` times all, and `own` times the group `index`.

    Everybody is of the `known` [G] groups. `cells` says of each named cell which labels [Y] and
    which classes [P] it counts.
    """

    table: ClusteredTable
    cells: Mapping[str, tuple[Marks, Marks]]
    known: Marks
    everybody: int = 0
    own: int = 1
    index: Ints | None = None

    def at(self, index: Ints) -> PooledClusters:
        """The group that `index` [Z, 1] names, aligned with each group."""
        return replace(self, everybody=0, own=1, index=index)

    def together(self, *, others: bool) -> PooledClusters:
        """Everybody in the stratum, or all others."""
        return replace(self, everybody=1, own=-1 if others else 0)

    def slots(self, cells: Sequence[str]) -> Slots:
        """How often each cell of the table counts in a sum of named cells."""
        times = sum(np.outer(*self.cells[cell]).astype(np.int64) for cell in cells)
        return tuple(map(tuple, np.asarray(times).tolist()))

    def totals(self, over: Sequence[str], under: Sequence[str]) -> ClusterTotals:
        """The sums of products of cluster totals, for a share of these cells."""
        return _totals(self, self.slots(over), self.slots(under))


class ClusterSums(Frozen, eq=False):
    """What the clusters of pooled groups have, [Z, G]: sums of squares of hits, misses and trials.

    `largest` is how many trials the largest cluster has, `df` how many degrees of freedom a
    variance between clusters has.
    """

    hits: Floats
    misses: Floats
    trials: Floats
    largest: Floats
    df: Floats


class ClusterTotals(Frozen, eq=False):
    """Sums over clusters of y y', y n' and n n', by column (stratum, group): sparse [ZG, ZG].

    In declared strata of the sample y and n are taken less their means in each.
    """

    hits: Any
    mixed: Any
    trials: Any
    sums: ClusterSums
    pooled: PooledClusters

    def product(self, other: ClusterTotals, share: Floats, other_share: Floats) -> Floats:
        """The sum over clusters of the products of both sides' residuals, [Z, G].

        `share` and `other_share` are those about which they are taken.
        """
        first, second = self.pooled, other.pooled
        return np.asarray(
            _bilinear(self.hits, first, second)
            - other_share * _bilinear(self.mixed, first, second)
            - share * _bilinear(self.mixed, second, first)
            + share * other_share * _bilinear(self.trials, first, second)
        )


class ClusteredShare(Frozen, eq=False):
    """A share of people in clusters: its totals, and the sum of its squared residuals, [Z, G].

    `floored` is how much the standard error was raised to that of independent rows, as a factor
    from 0 to 1.
    """

    totals: ClusterTotals
    value: Floats
    squares: Floats
    floored: Floats

    @classmethod
    def of(
        cls, totals: ClusterTotals, value: Floats, under: Floats, size: Floats
    ) -> tuple[ClusteredShare, Floats]:
        """A share, and how many independent rows would tell as much; NaN of too few clusters.

        Never more than `size`, that of independent rows, unless the sample has strata: clusters
        that happen to differ less than rows by chance are no evidence. Where few clusters have
        hits, or misses, the variance is at least that of clusters whose members are all alike, as
        it is at a share of 0 or 1. Few clusters estimate their own variance badly: Student's t
        takes the place of the normal distribution (Korn & Graubard 1998, Surv Methodol 24:193).
        """
        sums, strata = totals.sums, totals.pooled.table.clusters.strata
        most = size if strata is None else np.full_like(size, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            clusters = under**2 / sums.trials
            squares = np.maximum(totals.product(totals, value, value), 0.0)
            # CR2 at the largest leverage: m / (m - 1) where all clusters have one size.
            variance = squares / under**2 / (1 - np.fmin(sums.largest / under, 1.0))
            with_both = under**2 * np.fmin(value**2 / sums.hits, (1 - value) ** 2 / sums.misses)
            varies = (value > 0) & (value < 1) & (variance > 0)
            raw = np.where(varies, value * (1 - value) / variance, np.inf)
            alike = ~((value > 0) & (value < 1)) | (with_both < _FEWEST_WITH_HITS)
            raw = np.where(alike, np.fmin(raw, clusters), raw)
            floored = np.sqrt(np.minimum(most / raw, 1.0))
            effective = np.minimum(most, raw) * small_sample_factor(sums.df)
        effective = np.where(has_few_clusters(sums.df + 1), np.nan, effective)
        return cls(totals, value, squares, np.where(np.isnan(floored), 1.0, floored)), effective

    def correlation(self, other: ClusteredShare) -> Floats:
        """The correlation of two shares over the clusters they have in common, [Z, G].

        A positive one makes their difference surer, so it is taken no larger than the raised
        standard errors leave it.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = self.totals.product(other.totals, self.value, other.value)
            r = covariance / np.sqrt(self.squares * other.squares)
        r = np.clip(np.where(np.isfinite(r), r, 0.0), -1.0, 1.0)
        return np.where(r > 0, r * self.floored * other.floored, r)

    def least_correlation(self, among: Marks) -> Floats:
        """The lowest correlation of two groups that take part, [Z, 1]; 0 where none is below."""
        totals, (strata, groups) = self.totals, self.value.shape
        i, j = (np.asarray(place) for place in totals.trials.nonzero())
        pairs = (i != j) & among.reshape(-1)[i] & among.reshape(-1)[j]
        i, j = i[pairs], j[pairs]
        lowest = np.zeros(strata)
        if len(i):
            p, squares = self.value.reshape(-1), self.squares.reshape(-1)
            hits, mixed, turned, trials = (
                np.asarray(matrix[place]).reshape(-1)
                for matrix, place in (
                    (totals.hits, (i, j)),
                    (totals.mixed, (i, j)),
                    (totals.mixed, (j, i)),
                    (totals.trials, (i, j)),
                )
            )
            covariance = hits - p[j] * mixed - p[i] * turned + p[i] * p[j] * trials
            with np.errstate(divide="ignore", invalid="ignore"):
                r = np.nan_to_num(covariance / np.sqrt(squares[i] * squares[j]))
            np.minimum.at(lowest, i // groups, np.clip(r, -1.0, 0.0))
        return lowest[:, None]


def has_few_clusters(clusters: Floats) -> Marks:
    """Whether so many effective clusters are too few to estimate a variance."""
    return np.asarray(clusters < FEWEST_CLUSTERS - _ROUNDED)


class AveragedShare(Frozen, eq=False):
    """A share averaged over strata, and its correlation with its reference's: [1, G].

    `with_other` is the correlation of both, `effective_n` how many independent rows would tell as
    much.
    """

    effective_n: Floats
    with_other: Floats


def class_effective_n(clusters: PooledClusters, counts: Floats, n: Ints, among: Marks) -> Floats:
    """How many independent rows would tell as much of every class, [Z, G]; NaN of few clusters.

    `counts` [Z, K, G] are those of the classes, `n` [Z, G] the people. The class that clusters are
    most alike in decides, and so does the lowest correlation of two groups.
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
        with np.errstate(divide="ignore", invalid="ignore"):
            value = counts[:, k] / under
        totals = _totals(clusters, over, whole)
        share, size = ClusteredShare.of(totals, value, under, n.astype(np.float64))
        sizes = np.minimum(sizes, size / (1 - share.least_correlation(among)))
    return sizes


def _bilinear(matrix: Any, first: PooledClusters, second: PooledClusters) -> Floats:  # noqa: ANN401  # sparse
    """A' M b for every column, a and b being the two sides: [Z, G]."""
    strata, _, _, groups = first.table.shape
    among = np.tile(first.known, strata).astype(np.float64)
    rows, columns = (
        np.asarray(side).reshape(strata, groups) for side in (matrix @ among, matrix.T @ among)
    )
    i, j = (_places(clusters, strata, groups) for clusters in (first, second))
    products = np.zeros((strata, groups))
    if first.everybody and second.everybody:
        products = products + (rows * first.known).sum(axis=1, keepdims=True)
    if first.everybody and second.own:
        products = products + second.own * columns.reshape(-1)[j]
    if first.own and second.everybody:
        products = products + first.own * rows.reshape(-1)[i]
    if first.own and second.own:
        cells = np.asarray(matrix[i.reshape(-1), j.reshape(-1)]).reshape(strata, groups)
        products = products + first.own * second.own * cells
    return products


def _places(clusters: PooledClusters, strata: int, groups: int) -> Ints:
    """The column of the group that each group is compared with: [Z, G]."""
    own = np.arange(groups) if clusters.index is None else clusters.index
    start = (np.arange(strata) * groups)[:, None]
    return np.broadcast_to(start + own, (strata, groups))


class ClusterEntries(Frozen, eq=False):
    """The entries of the clusters that a table has: rows (stratum, cluster), columns and cells.

    `stratum` and `cluster` are those of each row.
    """

    row: Ints
    column: Ints
    slot: Ints
    mass: Floats
    stratum: Ints
    cluster: Ints

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.stratum)


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


def _totals(pooled: PooledClusters, over: Slots, under: Slots) -> ClusterTotals:
    """The products of a share's cluster totals."""
    table = pooled.table
    plain, strata = _products(table, over, under), _strata_of_rows(table)
    between = plain if strata.members is None else _products(table, over, under, centred=True)
    hits, mixed, trials = (_bilinear(matrix, pooled, pooled) for matrix in plain)
    own = _pool(_by_cluster(table, under), pooled)
    largest = own.max(axis=0).toarray().reshape(trials.shape)
    df = strata.degrees_of_freedom(own).reshape(trials.shape)
    sums = ClusterSums(hits, trials - 2 * mixed + hits, trials, largest, df)
    return ClusterTotals(*between, sums, pooled)


def _pool(by_cluster: Any, pooled: PooledClusters) -> Any:  # noqa: ANN401  # sparse
    """The totals of each cluster in the pooled groups: sparse [clusters, ZG]."""
    from scipy import sparse  # noqa: PLC0415  # only who names clusters pays

    strata, _, _, groups = pooled.table.shape
    columns = np.arange(strata * groups)
    places = (_places(pooled, strata, groups).reshape(-1), columns)
    ones = np.ones(len(columns))
    taken = pooled.own * sparse.csr_matrix((ones, places), shape=(len(columns),) * 2)
    if pooled.everybody:
        every = np.repeat(pooled.known[:, None], groups, axis=1).astype(np.float64)
        taken = taken + pooled.everybody * sparse.kron(sparse.identity(strata), every)
    return (by_cluster @ taken.tocsr()).tocsc()


@memoize
def _by_cluster(table: ClusteredTable, slots: Slots) -> Any:  # noqa: ANN401  # sparse
    """How many people of these cells each cluster has: sparse [clusters, ZG]."""
    from scipy import sparse  # noqa: PLC0415  # only who names clusters pays

    strata, _, _, groups = table.shape
    entries = read_entries(table)
    mass = entries.mass * np.array(slots, dtype=np.float64).reshape(-1)[entries.slot]
    counted = mass != 0
    places = (entries.row[counted], entries.column[counted])
    return sparse.csr_matrix((mass[counted], places), shape=(entries.rows, strata * groups))


@memoize
def _products(
    table: ClusteredTable, over: Slots, under: Slots, *, centred: bool = False
) -> tuple[Any, Any, Any]:
    """Sparse y'y, y'n and n'n of all clusters; `centred` less the means of strata of the sample."""
    y, n = _by_cluster(table, over), _by_cluster(table, under)
    strata = _strata_of_rows(table) if centred else UNSTRATIFIED
    hits, mixed, trials = (strata.between(*pair).tocsr() for pair in ((y, y), (y, n), (n, n)))
    return hits, mixed, trials


class StrataOfRows(Frozen, eq=False):
    """The strata of the sample that rows of clusters are in: `members` is sparse [strata, rows].

    `units` is how many clusters were drawn in each, `all_units` in all. Without declared strata
    there are no members.
    """

    members: Any = None
    units: Floats = np.ones(0)
    all_units: int = 1

    @property
    def _factor(self) -> Floats:
        """The factor m / (m - 1) of a stratum; 1 of a single cluster, that varies about 0."""
        return np.where(self.units > 1, self.units / np.maximum(self.units - 1, 1), 1.0)

    def between(self, first: Any, second: Any) -> Any:  # noqa: ANN401  # sparse or arrays
        """The products of two sides' totals by row, less their means in each stratum.

        The factor of all clusters is left out: it is in the leverage that a variance is divided by.
        """
        from scipy import sparse  # noqa: PLC0415  # only who names clusters pays

        if self.members is None:
            return first.T @ second
        factor = self._factor * (1 - 1 / self.all_units)
        of_rows = sparse.diags(self.members.T @ factor)
        mean = sparse.diags(np.where(self.units > 1, factor / self.units, 0.0))
        sums = (self.members @ side for side in (first, second))
        return first.T @ (of_rows @ second) - next(sums).T @ (mean @ next(sums))

    def degrees_of_freedom(self, sizes: Any) -> Floats:  # noqa: ANN401  # sparse
        """Those of columns of cluster sizes, [columns]: effective clusters less 1.

        In strata they are Satterthwaite's, if residuals were as large as these: the number of
        clusters less that of strata where all have one size.
        """
        from scipy import sparse  # noqa: PLC0415  # only who names clusters pays

        sizes = sparse.csr_matrix(sizes)
        squares = sizes.power(2)
        with np.errstate(divide="ignore", invalid="ignore"):
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


UNSTRATIFIED = StrataOfRows()


@memoize
def _strata_of_rows(table: ClusteredTable) -> StrataOfRows:
    entries = read_entries(table)
    return read_sample_strata(table.clusters, entries.cluster, entries.stratum)


def read_sample_strata(clusters: Clusters, cluster: Ints, stratum: Ints | int = 0) -> StrataOfRows:
    """The strata of the sample that rows of these clusters are in; each `stratum` has its own."""
    from scipy import sparse  # noqa: PLC0415  # only who names clusters pays

    if clusters.strata is None:
        return UNSTRATIFIED
    units = clusters.strata.units
    place = stratum * len(units) + clusters.strata.of_cluster[cluster]
    there, row = np.unique(place, return_inverse=True)
    members = sparse.csr_matrix((np.ones(len(row)), (row, np.arange(len(row)))))
    return StrataOfRows(members, units[there % len(units)].astype(np.float64), int(units.sum()))
