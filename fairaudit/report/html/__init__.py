"""Format `html` (entry point): a page that loads no files: its top, sections, folds and rows."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, count, groupby
from typing import Generic, TypeVar

import jinja2
from markupsafe import Markup, escape

from fairaudit.base import __version__
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import copied, printable
from fairaudit.judge import ReversalCheck, SubgroupCheck
from fairaudit.report import checks, lattice, numbers, rates, remarks, reversals, subgroups, summary
from fairaudit.report.blocks import (
    FEW_ROWS,
    Block,
    Cell,
    Document,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
)
from fairaudit.report.diagnostics import Diagnostic, Level, by_label, diagnose
from fairaudit.report.html import plots
from fairaudit.report.markup import RIGHT_TO_LEFT
from fairaudit.report.pictures import Intervals, Lines, Node
from fairaudit.report.provenance import link_to_metric, name_spec, origin
from fairaudit.report.remarks import WidestGap, distance, widest
from fairaudit.result import Answer, AuditResult

_LETTERS = 22
"""The number of letters of a name that fit below an axis."""
_LONGEST_NAME = 120
_FRAGMENTS = count(1)
"""Numbers for elements in a notebook, so that their ids are distinct."""


def render(answers: Sequence[Answer], *, all_rows: bool = True, full: bool = False) -> str:
    """The page of one answer, or the summary of several. With `full`, a printout has all of it."""
    if len(answers) > 1:
        return page(summary.document(answers, all_rows=all_rows, has_headlines=True))
    (answer,) = answers
    document = summary.report(answers, all_rows=all_rows)
    if not isinstance(answer.result, AuditResult):
        return page(document)
    # The top of the page has the verdict, so it needs no banner, and the result of each check.
    title, verdict, *others = document
    banner = verdict if isinstance(verdict, Entries) else Entries([(Cell(""), "")])
    below = (title, banner, *(b for b in others if not (isinstance(b, Entries) and b.is_titled)))
    outline = outlined(below)
    return _page(outline, front(answer.result, answer.data, outline), full=full)


def pictures(result: AuditResult) -> dict[str, Figure]:
    """The pictures on the page of a result, by name; pictures of checks come first."""
    outline = outlined(summary.report([Answer("", None, result)], all_rows=True))
    top = front(result, None, outline)
    found = [
        (f"check {copied(line.diagnostic.finding.check.id)}", line.picture)
        for line in (*top.open, *top.passed)
        if line.picture is not None
    ]
    found += [(place.block.title, place) for place in outline.figures()]
    names = Names()
    return {names.name(words, _LONGEST_NAME): place.block for words, place in found}


def page(document: Document) -> str:
    """A page of any document."""
    return _page(outlined(document), None)


def fragment(result: AuditResult) -> str:
    """The top of the page of a result as an element with its style, for a notebook."""
    outline = outlined(summary.report([Answer("", None, result)]))
    template = environment().get_template("fragment.html.jinja")
    return template.render(
        front=front(result, None, outline, f"audit-{next(_FRAGMENTS)}-"),
        style=Markup(_style("fragment.css.jinja")),  # noqa: S704  # our own file
    )


def _page(outline: Outline, top: Front | None, *, full: bool = True) -> str:
    style = _style("style.css.jinja")
    script = files(__name__).joinpath("sort.js").read_text(encoding="utf-8")
    template = environment().get_template("page.html.jinja")
    return template.render(
        outline=outline,
        front=top,
        full=full,
        title=plain(outline.title),
        style=Markup(style),  # noqa: S704  # our own file
        script=Markup(script),  # noqa: S704  # the same
        style_hash=_hash(style),
        script_hash=_hash(script),
        version=__version__,
    )


@cache
def environment() -> jinja2.Environment:
    """The templates with their filters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fairaudit.report.html", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        signs=signs,
        plain=plain,
        titled=titled,
        linked=linked,
        # A name below an axis; a long name is shortened in the middle.
        short_name=lambda name: plain(numbers.short(name, _LETTERS)),
        shorter=numbers.short,
        printable=printable,
        is_quiet=is_quiet,
        is_short=is_short,
        is_long=is_long,
        kind_of=lambda part: type(part).__name__.lower(),
        is_finite=math.isfinite,
        status_cell=checks.status_cell,
        subject=checks.title,
        copied=copied,
        by_label=by_label,
        link_to_metric=link_to_metric,
    )
    environment.globals["plots"] = plots
    return environment


@cache
def _style(template: str) -> str:
    """A style sheet, with the colours of the palette as variables and in pictures."""
    return environment().get_template(template).render()


def _hash(text: str) -> str:
    """The hash by which a content security policy allows a style or a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


_LONGEST = 160
"""A longer word is shortened, because the page may repeat it a hundred times."""
_KEPT = 60
_WORD = re.compile(rf"\S{{{_LONGEST + 1},}}")
_ADDRESS = re.compile(
    r"(https://[A-Za-z0-9][A-Za-z0-9./_~%#?=&+-]{0,150}[A-Za-z0-9/])(?![^\s.,;)])"
)
"""ASCII characters that need no quoting; the full stop of a sentence is excluded."""


def plain(words: str) -> str:
    """The words with control characters spelled out and overlong ones shortened."""
    return _WORD.sub(_shortened, printable(words.replace("\n", " ")))


@lru_cache(maxsize=4096)  # a page repeats the same names
def signs(words: str) -> Markup:
    """The words as markup: line breaks are kept, text from right to left is isolated."""
    if words.isspace():
        return escape(repr(words))  # quotes make a blank level visible
    lines, bdi = [], Markup("<bdi>{}</bdi>")
    for line in words.split("\n"):
        # The second, fourth, … parts are right-to-left characters.
        parts = RIGHT_TO_LEFT.split(_WORD.sub(_shortened, printable(line)))
        isolated = (bdi.format(part) if n % 2 else escape(part) for n, part in enumerate(parts))
        lines.append(Markup().join(isolated))
    return Markup("<br>").join(lines)


def titled(words: str) -> Markup:
    """A statement whose part before the first colon is bold."""
    about, colon, rest = words.partition(": ")
    if not colon:
        return signs(words)
    return Markup("<strong>{}:</strong> {}").format(signs(about), signs(rest))


def linked(words: str) -> Markup:
    """The words as markup; addresses become links."""
    parts = _ADDRESS.split(words)
    pieces = [
        Markup('<a href="{0}" rel="noreferrer">{0}</a>').format(part) if index % 2 else signs(part)
        for index, part in enumerate(parts)
        if part
    ]
    return Markup().join(pieces)


def _shortened(match: re.Match[str]) -> str:
    word = match[0]
    return f"{word[:_KEPT]}…{word[-_KEPT // 3 :]} ({len(word):,} characters)"


_FEW_TABLES = 3
"""If a section has more tables, all except the first are folded."""
_SHOWN = 12
"""The number of rows of a long table that are visible at once."""
_LEAST = 3
"""Minimum number of rows of a table if the page has no room left for rows."""
_MOST_ROWS = 1_000
"""The largest number of rows of a table on a page; JSON has every row."""
_MOST_IN_ALL = 3_000
_MOST_ENTRIES = 400
"""The largest number of statements in a list."""

_SHORT = 120
"""Maximum number of characters of a text in a column of half the page."""

Kind = TypeVar("Kind", bound=Block)


class Place(Frozen, Generic[Kind]):
    """A block with its id and its label on the page."""

    block: Kind
    id: str
    label: str = ""


class Rows(Frozen):
    """A table on the page: its first rows and the folded rows, or `is_folded` as a whole.

    If `is_bare`, its caption is the heading of its section. `left` rows are not on the page.
    """

    place: Place[Table]
    first: Sequence[Sequence[object]]
    folded: Sequence[Sequence[object]]
    is_bare: bool
    is_folded: bool
    left: int


class Pictures(Frozen):
    """Figures side by side."""

    places: Sequence[Place[Figure]]


class Words(Frozen):
    """A paragraph, facts or entries; `left` is the number of omitted ones."""

    block: Paragraph | Facts | Entries
    left: int = 0


class Section(Frozen):
    """A heading with all blocks below it; `is_record` is copied from the heading."""

    id: str
    title: str
    items: Sequence[Rows | Pictures | Words]
    is_record: bool = False


class Outline(Frozen):
    """A page: title, banner, and sections. The first section has no heading."""

    title: str
    banner: Entries | None
    opening: Section
    sections: Sequence[Section]

    def figures(self, id_: str = "") -> list[Place[Figure]]:
        """The pictures of the section `id_`, or of all sections if it is empty, in order."""
        sections = [
            section for section in (self.opening, *self.sections) if id_ in {"", section.id}
        ]
        items = chain.from_iterable(section.items for section in sections)
        return [place for item in items if isinstance(item, Pictures) for place in item.places]


def outlined(document: Document) -> Outline:
    """The document in sections; the first heading is the title, one entry below is the banner."""
    page = Names()
    titles = [block.text for block in document if isinstance(block, Heading)]
    title = titles[0] if titles else "fairaudit"
    parts: list[tuple[Heading, list[Block]]] = [(Heading(""), [])]
    for index, block in enumerate(document):
        if not isinstance(block, Heading):
            parts[-1][1].append(block)
        elif index:
            parts.append((block, []))
    opening = parts[0][1]
    banner = None
    if opening and isinstance(opening[0], Entries) and len(opening[0].rows) == 1:
        banner, opening = opening[0], opening[1:]
    return Outline(
        title,
        banner,
        Section("top", "", list(_items(opening, title, page))),
        [
            Section(
                page.name(head.text), head.text, [*_items(blocks, head.text, page)], head.is_record
            )
            for head, blocks in parts[1:]
            if blocks
        ],
    )


class Names:
    """Distinct names and labels for the parts of a page, and the number of rows left for it."""

    def __init__(self, prefix: str = "", kind: str = "Table") -> None:
        self._prefix, self._kind = prefix, kind
        self._names: set[str] = {"content", "findings", "opening", "top"}
        self._labels: set[str] = set()
        self._room = _MOST_IN_ALL

    def name(self, words: str, most: int = 48) -> str:
        """A name made of words with at most `most` characters, and a number if it is taken."""
        name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:most].strip("-") or "part"
        return _new(f"{self._prefix}{name}", "{}-{}", self._names)

    def label(self, caption: str) -> str:
        """The label of a table, with a number if another table on the page has this caption."""
        return _new(f"{self._kind}: {caption}", "{} ({})", self._labels)

    def take_rows(self, wanted: int) -> int:
        """The number of rows, at most `wanted`, that the page has room for."""
        given = min(wanted, _MOST_ROWS, max(self._room, _LEAST))
        self._room -= given
        return given


def _new(wanted: str, pattern: str, used: set[str]) -> str:
    numbered = (pattern.format(wanted, number) for number in count(2))
    name = next(name for name in chain([wanted], numbered) if name not in used)
    used.add(name)
    return name


def _items(blocks: Sequence[Block], title: str, page: Names) -> Iterator[Rows | Pictures | Words]:
    is_long = sum(isinstance(block, Table) for block in blocks) > _FEW_TABLES
    tables = 0
    for is_figure, run in groupby(blocks, key=lambda block: isinstance(block, Figure)):
        if is_figure:
            figures = [block for block in run if isinstance(block, Figure)]
            yield Pictures(
                [Place(figure, page.name(f"picture {figure.title}")) for figure in figures]
            )
            continue
        for block in run:
            match block:
                case Table():
                    tables += 1
                    named = _begun(replace(block, caption=block.caption or title))
                    is_folded = is_long and tables > 1
                    yield _rows(named, page, is_bare=not block.caption, is_folded=is_folded)
                case Entries():
                    kept = replace(block, rows=block.rows[:_MOST_ENTRIES])
                    yield Words(kept, len(block.rows) - len(kept.rows))
                case Paragraph() | Facts():
                    yield Words(block)


def _begun(table: Table) -> Table:
    """The table; its caption begins with a capital letter."""
    return replace(table, caption=table.caption[:1].upper() + table.caption[1:])


def _rows(table: Table, page: Names, *, is_bare: bool, is_folded: bool) -> Rows:
    kept = table.rows[: page.take_rows(len(table.rows))]
    short = len(kept) if is_folded or len(kept) <= _SHOWN + 3 else _SHOWN
    place = Place(table, page.name(f"table {table.caption}"), page.label(table.caption))
    omitted = len(table.rows) - len(kept)
    return Rows(place, kept[:short], kept[short:], is_bare, is_folded, omitted)


def is_quiet(block: Entries) -> bool:
    """Whether all statements are remarks, which the page shows less prominently than findings."""
    return all(cell.tone is Tone.MUTED for cell, _ in block.rows)


def is_long(block: Facts) -> bool:
    """Whether facts are long, like definitions, so that each is folded."""
    long = [len(words) > 2 * _SHORT for name, words in block.pairs if name]
    return len(long) == len(block.pairs) and 2 * sum(long) > len(long) > 0


def is_short(block: Facts) -> bool:
    """Whether facts are short enough for two columns."""
    return all(len(words) <= _SHORT for _, words in block.pairs)


_CHECKS_SHOWN = 8
"""The number of open checks that are listed at once; the others are folded."""
_TABLES_SHOWN = 6
"""The number of tables at the top of a page without checks."""
_KINDS = (Intervals, Lines)
"""The kinds of pictures for a page whose checks have none, the most informative first."""
_LIMIT = (
    "limit: the value beyond which a check fails or warns; spec line: the line of the spec (the "
    "file that defines this audit) that sets the limit"
)
_COMPARE = "Compare new data with this result: `fairaudit run {} --baseline report.json`."
_SECTIONS: dict[type, str] = {ReversalCheck: reversals.HEADING, SubgroupCheck: subgroups.HEADING}
"""The heading of the section with the numbers of a check that does not compare two groups."""
_CURVES = ("Calibration", "Distribution")
_PICTURES = 24
"""Maximum number of findings with a picture."""


class CheckLine(Frozen):
    """A check as a row of the list and as a finding below it; `section` has more details."""

    id: str
    diagnostic: Diagnostic
    picture: Place[Figure] | None
    section: str

    @classmethod
    def of(
        cls, id_: str, diagnostic: Diagnostic, outline: Outline, *, has_picture: bool
    ) -> CheckLine:
        """The line of a diagnostic; `outline` is the page below the list."""
        finding, figure = diagnostic.finding, diagnostic.figure
        picture = Place(figure, f"{id_}-picture") if figure is not None and has_picture else None
        titles = {section.title: section.id for section in outline.sections}
        section = titles.get(_SECTIONS.get(type(finding.check), ""), "")
        return cls(id_, diagnostic, picture, section)


class Front(Frozen):
    """The top of a page.

    `lead` is the deciding check, or the pass closest to its limit; None without limits. `open`
    checks did not pass or are in doubt. The first are `shown`; `folds` are the others by title.
    `curves` are pictures of the score used by an open check. `subsets` are values of `measure`.
    Without limits, there are `tables` of groups, the number of `more_tables` in words, and the
    widest `gaps`. `words` explains terms that the top uses. `notices` are the first notices,
    `steps` are the next steps, and `origin` says what was audited, and when.
    """

    headline: checks.AuditHeadline
    lead: CheckLine | None
    picture: Place[Figure] | None
    shown: Sequence[CheckLine]
    folds: Sequence[tuple[str, Sequence[CheckLine]]]
    open: Sequence[CheckLine]
    passed: Sequence[CheckLine]
    curves: Sequence[Place[Figure]]
    measure: str
    subsets: Sequence[Node]
    tables: Sequence[Rows]
    more_tables: str
    gaps: Sequence[WidestGap]
    words: str
    notices: Sequence[str]
    steps: Sequence[str]
    origin: str


def front(result: AuditResult, data: str | None, outline: Outline, prefix: str = "") -> Front:
    """The top of the page of a result; `outline` is the rest of the page.

    If several results share a page, each id begins with a `prefix`.
    """
    lines = [
        CheckLine.of(
            f"{prefix}finding-{number}", diagnostic, outline, has_picture=number <= _PICTURES
        )
        for number, diagnostic in enumerate(diagnose(result), 1)
    ]
    passed = [line for line in lines if line.diagnostic.level is Level.PASS]
    passed.sort(key=lambda line: distance(line.diagnostic))
    opened = [line for line in lines if line.diagnostic.level is not Level.PASS]
    lead = next(iter([*opened, *passed]), None)
    count = remarks.count_passes([line.diagnostic for line in lines])
    folds = [
        (f"{len(opened) - _CHECKS_SHOWN} more to look at", opened[_CHECKS_SHOWN:]),
        (count, passed),
    ]
    measure, subsets = lattice.strip(result, None if lead is None else lead.diagnostic.finding)
    tables = [] if lines else [*rates.answers(result, FEW_ROWS)]
    legend = [_LIMIT] if lines else []
    legend += remarks.explain_evidence(line.diagnostic for line in opened)
    # The pictures of the score, by the groups of the first check.
    by = numbers.subset(opened[0].diagnostic.finding.check.by) if opened else ""
    columns = {curve.column for curve in result.curves if opened}
    curves = {f"{kind} of {column} by {by}" for kind in _CURVES for column in columns}
    page = Names(f"{prefix}answer-", "At the top")
    more = len(tables) - _TABLES_SHOWN
    return Front(
        checks.audit_headline(result, data),
        lead,
        _picture(lead, opened or passed, outline, prefix),
        opened[:_CHECKS_SHOWN],
        [fold for fold in folds if fold[1]],
        opened,
        passed,
        [
            replace(place, id=f"{prefix}front-{place.id}")
            for place in outline.figures()
            if place.block.title in curves
        ],
        measure,
        subsets,
        [
            _rows(_begun(table), page, is_bare=False, is_folded=False)
            for table in tables[:_TABLES_SHOWN]
        ],
        f"{numbers.counted(more, 'more table')} below" if more > 0 else "",
        [] if lines else widest(result),
        "; ".join(legend),
        [*remarks.first_notices(result)],
        [
            *([] if opened or not passed else [_COMPARE.format(name_spec(result.provenance))]),
            *remarks.steps(result, [line.diagnostic for line in lines]),
            *(f"Decide what else needs a limit. {text}." for text in remarks.uncovered(result)),
        ],
        origin(result),
    )


def _picture(
    lead: CheckLine | None, lines: Sequence[CheckLine], outline: Outline, prefix: str
) -> Place[Figure] | None:
    """The picture at the top: of the first check, else of its section, else of another check."""
    if lead is not None and lead.picture is not None:
        return lead.picture
    section = lead.section if lead is not None else ""
    below = [place for place in outline.figures(section) if section]
    drawn = [line.picture for line in lines if line.picture is not None]
    if not below and drawn:
        return drawn[0]
    ranked = sorted(
        below or outline.figures(), key=lambda place: _KINDS.index(type(place.block.picture))
    )
    return next((replace(place, id=f"{prefix}front-{place.id}") for place in ranked), None)
