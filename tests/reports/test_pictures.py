"""Pictures say what the numbers say: they are read off their own axes here, as a reader would."""

from __future__ import annotations

import bisect
import csv
import itertools
import math
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import get_args

import pytest
from conftest import SAMPLES
from pages import Element, elements, read, sample, tree_of
from report_cases import EACH, NAMES

import fairaudit
from fairaudit.report import html, lattice, rate_figures
from fairaudit.report.blocks import Figure, Heading
from fairaudit.report.diagnostics import diagnose
from fairaudit.report.html import plots, svg
from fairaudit.report.pictures import (
    Interval,
    Intervals,
    Line,
    Lines,
    Mark,
    Picture,
    Point,
    Rule,
)


def drawings(tree: Element) -> list[Element]:
    """The pictures of a page."""
    return [one for one in tree.all("div") if one.attributes.get("role") == "img"]


def draw(picture: Picture) -> Element:
    """A picture as it stands in a page."""
    (drawn,) = drawings(read(html.page((Heading("x"), Figure("title", picture)))))
    return drawn


def children(element: Element, tag: str) -> list[Element]:
    """The elements of a kind right below one."""
    return [one for one in element.children if isinstance(one, Element) and one.tag == tag]


def share(text: str) -> float:
    """A place in per cent."""
    return float(text.removesuffix("%"))


@dataclass(frozen=True)
class Axis:
    """An axis by two of its ticks, as a reader has it: places, and the numbers beside them."""

    ticks: list[tuple[float, float]]

    def value(self, place: float) -> float:
        """The number at a place."""
        (a, x), (b, y) = self.ticks[0], self.ticks[-1]
        return x + (place - a) / (b - a) * (y - x)


def tick(text: str) -> float:
    """The number that stands at a tick."""
    number = float(text.removesuffix(" %").replace(",", ""))
    return number / 100 if text.endswith("%") else number


def axis_below(drawn: Element) -> Axis:
    """The axis below rows."""
    (svg,) = [one for one in children(drawn, "svg") if one.attributes.get("class") == "axis"]
    return Axis([(share(one.attributes["x"]), tick(one.text)) for one in svg.all("text")])


def upright_axis(canvas: Element) -> Axis:
    """The axis beside lines."""
    return Axis([(share(o.attributes["y"]), tick(o.text)) for o in children(canvas, "text")])


def points(element: Element) -> list[Element]:
    """The points right below an element: places with a mark."""
    return [one for one in children(element, "svg") if children(one, "path")]


def rows(drawn: Element) -> dict[str, Element]:
    """What is drawn beside each name."""
    parts = [one for one in drawn.children if isinstance(one, Element)]
    return {
        name.text: strip
        for name, strip in itertools.pairwise(parts)
        if name.attributes.get("class", "").startswith("name")
    }


@pytest.mark.parametrize("name", EACH)
def test_every_picture_has_a_title_and_a_description_of_its_own(name: str) -> None:
    found = sample(name)
    tree = tree_of(name)
    by_id = {one.attributes["id"]: one for one in elements(tree) if "id" in one.attributes}
    drawn = drawings(tree)
    assert len(drawn) >= len(found.figures)
    told = {
        (
            by_id[one.attributes["aria-labelledby"]].text,
            by_id[one.attributes["aria-describedby"]].text,
        )
        for one in drawn
    }
    for figure in found.figures:
        assert (" ".join(figure.title.split()), " ".join(figure.description.split())) in told
    for one in drawn:
        inside = [part for part in elements(one) if set(part.attributes) & {"role", "id"}]
        assert not inside
        assert not any(key.startswith("aria") for p in elements(one) for key in p.attributes)


def test_every_kind_of_picture_occurs_in_the_samples() -> None:
    figures = [one for name in ("loans_score", "kidney_admissions") for one in sample(name).figures]
    assert {type(one.picture) for one in figures} == set(get_args(Picture))


def test_the_points_of_a_rate_are_the_counts() -> None:
    selected: dict[str, int] = defaultdict(int)
    people: dict[str, int] = defaultdict(int)
    with (SAMPLES / "kidney_admissions.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            group = f"{row['gender']} × {row['race']}"
            people[group] += int(row["n"])
            selected[group] += int(row["n"]) * (row["outcome"] == "admitted")
    drawn = draw(
        _figure(
            "kidney_admissions",
            "Selection rate of the decision (outcome = admitted) by gender × race",
        ).picture
    )
    axis = axis_below(drawn)
    values = {
        name: axis.value(share(points(strip)[0].attributes["x"]))
        for name, strip in rows(drawn).items()
    }
    wanted = {name: pytest.approx(selected[name] / people[name], abs=1e-4) for name in people}
    assert values == wanted


def test_a_reversal_is_drawn_from_the_rates_of_its_strata() -> None:
    figure = _figure(
        "kidney_admissions", "Selection rate: gender=A against gender=B, overall and by race"
    )
    drawn = draw(figure.picture)
    (canvas,) = [o for o in children(drawn, "svg") if "canvas" in o.attributes["class"]]
    axis = upright_axis(canvas)
    lines = {
        one.attributes["class"]: [axis.value(share(p.attributes["y"])) for p in points(one)]
        for one in children(canvas, "g")
    }
    assert lines["strong"] == pytest.approx([273 / 350, 289 / 350], abs=1e-4)
    assert lines["series-0"] == pytest.approx([81 / 87, 234 / 270], abs=1e-4)
    assert lines["series-1"] == pytest.approx([192 / 263, 55 / 80], abs=1e-4)
    assert "78.0 % → 82.6 %" in drawn.text


def test_the_words_at_a_limit_keep_clear_of_each_other_and_of_the_names() -> None:
    """Each has a line of its own, and stands inwards near the ends of the axis."""
    rules = [Rule(at, "sex", f"fail {at}", limit="fail") for at in (-0.09, 0.1, 0.29)]
    drawn = draw(Intervals("gap", [Interval("f", 0.0, -0.1, 0.1, panel="sex")], rules))
    texts = [one for one in drawn.all("text") if one.attributes.get("class") == "limit fail"]
    assert [one.attributes["text-anchor"] for one in texts] == ["start", "middle", "end"]
    assert len({one.attributes["y"] for one in texts}) == 3


def test_limits_of_lines_are_named_beside_them() -> None:
    values = [Point(at, at / 10) for at in range(3)]
    limits = [
        Rule(0.1, label="fail below 0.1", limit="fail"),
        Rule(0.2, label="warn below 0.2", limit="warn"),
    ]
    lines = Lines("file", "value", [Line("", values)], limits=limits)
    (legend,) = [one for one in draw(lines).all("span") if one.attributes.get("class") == "legend"]
    assert " ".join(legend.text.split()) == "fail below 0.1 warn below 0.2"
    file = svg.draw(Figure("t", lines))
    assert all(rule.label in file for rule in limits)
    colours = {plots.COLOURS[plots.RULES[rule.limit][0]][0] for rule in limits}
    assert len(colours) == 2
    assert all(file.count(f'stroke="{colour}"') == 2 for colour in colours)


def test_a_line_by_itself_needs_no_name() -> None:
    values = [Point(at, at / 10) for at in range(3)]
    alone, named = (draw(Lines("file", "value", [Line(label, values)])) for label in ("", "women"))
    assert "women" in named.text
    assert not [one for one in alone.all("span") if one.attributes.get("class") == "legend"]


def test_long_names_are_whole_in_rows_and_beside_lines() -> None:
    name = "long " * 30
    (label,) = rows(draw(Intervals("n", [Interval(name, 1.0)])))
    assert label == name.strip()
    lines = Lines("x", "y", [Line(name, [Point("a" * 60, 1), Point("b", 2)])])
    assert name.strip() in draw(lines).text
    assert "…" in draw(lines).text


def test_suppressed_undefined_and_infinite_values_are_told_not_drawn() -> None:
    strips = [
        Interval("known", 0.5, 0.4, 0.6, text="50.0 %"),
        Interval("hidden", math.nan, text="suppressed"),
        Interval("endless", math.inf, text="∞", mark=Mark.ASIDE),
        Interval("open", 0.3, None, None, text="30.0 %", mark=Mark.REFERENCE),
    ]
    drawn = draw(Intervals("rate", strips, [Rule(0.3)]))
    marked = [name for name, strip in rows(drawn).items() if points(strip)]
    assert marked == ["known", "open"]
    assert {"suppressed", "∞"} <= {one.text for one in drawn.all("span")}
    ends = [Point(0.1, 0.2), Point(math.nan, 0.3), Point(0.4, math.inf)]
    lines = draw(Lines("x", "y", [Line("a", ends), Line("none", [])]))
    assert [len(points(one)) for one in lines.all("g")] == [1, 0]
    for picture in (
        Intervals("rate", [Interval("none", math.nan, text="undefined")]),
        Lines("x", "y", [Line("a", [])]),
        Lines("x", "y", []),
        Intervals("rate", []),
    ):
        assert not re.search("nan|inf", repr(draw(picture)), re.IGNORECASE)


@pytest.mark.long
def test_colours_and_dashes_of_pictures_are_in_the_style_and_none_is_in_the_picture() -> None:
    (style,) = tree_of("loans").all("style")
    classes = {
        word
        for name in NAMES
        for drawn in drawings(tree_of(name))
        for one in elements(drawn)
        for word in one.attributes.get("class", "").split()
    }
    assert {word for word in classes if word not in style.words} <= {"group", "value", "axis"}
    assert {f"series-{at}" for at in range(2)} <= classes
    dashes = re.findall(r"\.series-\d polyline[^{]*\{stroke-dasharray:([^}]*)\}", style.words)
    assert len(set(dashes)) == plots.SERIES
    for name in NAMES:
        for drawn in drawings(tree_of(name)):
            for one in elements(drawn):
                assert not set(one.attributes) & {"fill", "stroke", "style"}


def _figure(name: str, title: str) -> Figure:
    return next(one for one in sample(name).figures if one.title == title)


def test_a_rate_by_stratum_is_a_line_for_each_group() -> None:
    admitted = {("men", "A"): 512 / 825, ("women", "A"): 89 / 108, ("women", "F"): 24 / 341}
    picture = _figure(
        "berkeley_admissions", "Selection rate of the decision, gender by department"
    ).picture
    assert isinstance(picture, Lines)
    known = {(line.label, one.x): one.y for line in picture.lines for one in line.points}
    assert len(known) == 12
    for key, rate in admitted.items():
        assert known[key] == pytest.approx(rate)
    assert [len(points(one)) for one in draw(picture).all("g")] == [6, 6]


def test_limits_lie_where_the_ratio_of_the_reference_is() -> None:
    highest = 1115 / 1847
    picture = _figure(
        "loans", "Selection rate of the prediction (score at least 0.5) by gender × race"
    ).picture
    assert isinstance(picture, Intervals)
    limits = {rule.label.split()[0]: rule.value for rule in picture.rules if rule.limit}
    assert limits == {
        "fail": pytest.approx(0.8 * highest),
        "warn": pytest.approx(0.9 * highest),
    }
    (reference,) = [rule.value for rule in picture.rules if not rule.limit]
    assert reference == pytest.approx(highest)


def test_the_legend_computes_the_limit_from_the_rate_of_the_other_group() -> None:
    def legend(title: str, name: str) -> list[str]:
        picture = _figure(name, title).picture
        assert isinstance(picture, Intervals)
        return [rule.bounds for rule in picture.rules if rule.limit]

    title = "Selection rate of the prediction (score at least 0.5) by gender × race"
    # 1115 / 1847 = .60368: 0.9 × 60.4 would be 54.4, but the line is at 54.3.
    assert legend(title, "loans") == ["below 0.9 × 60.37 %", "below 0.8 × 60.37 %"]
    # A gap is measured from the lowest rate if the highest is worse off.
    lowest = f"{41 / 275:.1%}".replace("%", " %")
    title = "False positive rate of recidivism by race"
    assert legend(title, "compas_scores") == [f"above {lowest} + 10.0 points"]


def test_a_ratio_of_the_other_outcome_is_drawn_by_the_rates_of_the_positive_one() -> None:
    """ε of the Titanic is attained by 'died'; the picture counts survivors, and says so."""
    (failed, _) = diagnose(sample("titanic").result)
    picture = failed.picture
    assert picture is not None
    assert picture.axis == "selection rate (fate = survived, the opposite of 'died')"
    drawn = {row.label: row.value for row in picture.rows if row.strong}
    assert drawn == {
        "2nd × Male × Adult": pytest.approx(1 - 154 / 168),
        "2nd × Female × Child": pytest.approx(1.0),
    }
    assert "'died'" in dict(failed.lines)["who"]


def test_calibration_and_roc_are_the_scores() -> None:
    groups: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    with (SAMPLES / "loans.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["repaid"]:
                groups[row["gender"]].append((float(row["score"]), row["repaid"] == "yes"))
    picture = _figure("loans_score", "ROC of score by gender").picture
    assert isinstance(picture, Lines)
    for line in picture.lines:
        people = groups[line.label]
        wins = [score for score, is_good in people if is_good]
        losses = [score for score, is_good in people if not is_good]
        area = sum(
            (float(b.x) - float(a.x)) * (a.y + b.y) / 2
            for a, b in zip(line.points, line.points[1:], strict=False)
        )
        losses.sort()
        exact = sum(bisect.bisect_left(losses, one) for one in wins) / len(wins) / len(losses)
        assert area == pytest.approx(exact, abs=0.01)
    picture = _figure("loans_score", "Calibration of score by gender").picture
    assert isinstance(picture, Lines)
    assert sum(len(line.points) for line in picture.lines) == 20
    for line in picture.lines:
        low = [good for score, good in groups[line.label] if score < 0.1]
        assert line.points[0].y == pytest.approx(sum(low) / len(low))


def test_subsets_are_told_in_numbers() -> None:
    result = sample("adult_counts").result
    measure, nodes = lattice.strip(result, next(iter(result.findings), None))
    assert measure == "ε"
    published = [0.219, 0.930, 1.03, 1.16, 1.21, 1.76, 2.14]  # Foulds & Pan, Table 2
    shown = sorted(float(one.text.split()[0]) for one in nodes)
    assert shown == pytest.approx(published, abs=0.006)


def test_infinite_is_told_and_fully_shaded() -> None:
    result = sample("titanic").result
    _, nodes = lattice.strip(result, result.findings[0])
    assert {one.shade for one in nodes if "∞" in one.text} == {1.0}


def test_a_picture_and_the_table_beside_it_have_one_reference() -> None:
    """The largest group is w; the ratios that the spec asks for are relative to the highest, a."""
    rates = {"w": (200, 400), "b": (30, 100), "a": (60, 100)}
    cells = [(g, d, n if d else size - n) for g, (n, size) in rates.items() for d in (1, 0)]
    rows = dict(zip(("g", "d", "n"), map(list, zip(*cells, strict=True)), strict=True))
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}, "count": "n"}
    for metrics, reference in (("impact_ratio", "a"), ("selection_rate", "w")):
        spec = {"columns": columns, "metrics": [metrics]}
        (figure, *_) = rate_figures.rates(fairaudit.audit(spec, rows))
        assert isinstance(figure.picture, Intervals)
        marked = [row.label for row in figure.picture.rows if row.mark is Mark.REFERENCE]
        assert marked == [reference]
