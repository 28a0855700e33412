"""What reports print, read with plain Python: numbers as the ranges that their digits leave.

`CHECKS` gives the labelled lines of each check by its id as each format prints them, `TABLES` the
captions, heads and rows of tables.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

Range: TypeAlias = tuple[float, float]
"""The least and the greatest number that is printed like this."""
EVERYTHING = (-math.inf, math.inf)
_NUMBER = r"-?(?:∞|\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?(?: %)?)|undefined"
_COUNTS = r"[\d,.]+/[\d,.]+(?: weighted, n = [\d,]+)?|n = [\d,]+"
_SIDE = re.compile(rf" *[^\d∞]*[^\d∞= ] +(?P<rate>{_NUMBER})(?: +(?:{_COUNTS}))?(?: |$)")
_NEXT_SIDE = re.compile(r"\n|, (?!n =)")
_LABELS = (
    "value|outcome|means|who|sure|people|also|note|interval|test|missing|few|others|left out|strata"
)
_LABEL = re.compile(rf"(?:^|\n|; )(?P<label>{_LABELS}): ")


class Told(NamedTuple):
    """A check as a report prints it: the headline, and the texts behind each label."""

    headline: str
    lines: dict[str, str]

    @property
    def texts(self) -> list[str]:
        """The rates of the sides, in their order."""
        lines = (" ".join(line.split()) for line in _NEXT_SIDE.split(self.lines.get("who", "")))
        return [side["rate"] for side in map(_SIDE.match, lines) if side is not None]

    @property
    def rates(self) -> list[Range]:
        """The numbers that are printed like the rates of the sides."""
        return [*map(read, self.texts)]

    @property
    def value(self) -> str:
        """The number that decides, as it is printed."""
        found = re.search(
            rf"(?:^|\n)((?:{_NUMBER})(?: points)?)(?:, (?:below|above) | \()",
            self.lines.get("value", ""),
        )
        return found[1] if found else ""


class Rows(NamedTuple):
    """A table as a report prints it."""

    caption: str
    header: list[str]
    rows: list[list[str]]
    below: str


def read(text: str) -> Range:
    """The numbers that are printed like this: a share in per cent is one of 1."""
    if text in {"", "undefined", "suppressed"}:
        return EVERYTHING
    if "∞" in text:
        return (-math.inf, -math.inf) if text.startswith("-") else (math.inf, math.inf)
    share = 0.01 if text.endswith((" %", " points")) else 1
    plain = text.removesuffix(" %").removesuffix(" points").replace(",", "")
    mantissa, _, exponent = plain.partition("e")
    half = 0.5 * 10 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    half += 1e-9 * abs(float(plain)) + 1e-12
    return (float(plain) - half) * share, (float(plain) + half) * share


def is_near(first: Range, second: Range) -> bool:
    """Whether a number may be in both ranges."""
    slack = 1e-9
    return first[0] <= second[1] + slack and second[0] <= first[1] + slack


def combine(function: Callable[[float, float], float], first: Range, second: Range) -> Range:
    """The range of a function that rises or falls with each of two numbers."""
    if EVERYTHING in {first, second}:
        return EVERYTHING
    values = []
    for a, b in product(first, second):
        try:
            values.append(function(a, b))
        except (ArithmeticError, ValueError):
            return EVERYTHING
    return EVERYTHING if any(map(math.isnan, values)) else (min(values), max(values))


def _labelled(text: str) -> Told:
    """The labelled lines of a text, each up to the next label."""
    parts = _LABEL.split(text)
    lines: dict[str, str] = {}
    for label, told in zip(parts[1::2], parts[2::2], strict=True):
        lines[label] = "\n".join(filter(None, (lines.get(label), told)))
    return Told(parts[0].strip(), lines)


def checks_of_junit(text: str) -> Iterator[tuple[str, Told]]:
    for case in ET.fromstring(text.encode()).iter("testcase"):  # noqa: S314  # our own
        told = next(iter(case), None)
        if told is not None:
            headline = told.get("message", "")
            lines = _labelled(f"\n{(told.text or '').strip()}")
            yield case.attrib["name"], Told(headline or lines.headline, lines.lines)


def checks_of_sarif(text: str) -> Iterator[tuple[str, Told]]:
    for row in json.loads(text)["runs"][0]["results"]:
        words = row["message"]["text"].replace("{{", "{").replace("}}", "}")
        yield row["properties"]["check"], _labelled(words)


def checks_of_github(text: str) -> Iterator[tuple[str, Told]]:
    for line in text.splitlines():
        title = re.search(r"title=[A-Z]+ (.*?)::(.*)", line)
        if title:
            name = title[1].replace("%3A", ":").replace("%2C", ",")
            words = title[2].replace("%0A", "\n").replace("%25", "%")
            yield name, _labelled(words)


def checks_of_markdown(text: str) -> Iterator[tuple[str, Told]]:
    for entry in re.split(r"\n[*-] \*\*", text):
        name = re.search(r"\n +check: ([^\n]+)", entry)
        if name:
            lines = re.sub(r"\\\n(?:  )?(?:\u2060  )?", "\n", entry).replace("\u2060", "")
            plain = re.sub(r"\\([^\w\s])", r"\1", html.unescape(lines))
            yield name[1].replace("\\", ""), _labelled(plain.partition("\n  check: ")[0])


def checks_of_html(text: str) -> Iterator[tuple[str, Told]]:
    for article in re.findall(r'<article id="finding-.*?</article>', text, re.DOTALL):
        lines: dict[str, str] = {}
        for label, told in re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", article, re.DOTALL):
            words = _plain(told.replace("<br>", "\n"))
            lines[label] = "\n".join(filter(None, (lines.get(label), words)))
        name = re.search(r"\(<code>(.*?)</code>\)", article)
        headline = _plain(article.partition("</h3>")[0].partition("</span>")[2])
        if name:
            yield html.unescape(name[1]), Told(headline.strip(), lines)


def _plain(text: str) -> str:
    """The words of a piece of HTML."""
    return html.unescape(re.sub(r"<[^>]+>", "", text))


def checks_of_screen(text: str) -> Iterator[tuple[str, Told]]:
    """By the name of the metric: the first screen has no ids."""
    for name, entry in re.findall(
        r"^\w+\[(\w+)\]: (.*?)(?=\n\n|\n\w+\[|\Z)", text, re.MULTILINE | re.DOTALL
    ):
        lines: dict[str, str] = {}
        label = ""
        head: list[str] = []
        for line in entry.splitlines():
            if found := re.match(r"   = (\w+):\s+(.*)", line):
                label = found[1]
                lines[label] = found[2]
            elif label and line.startswith(" " * 14):
                lines[label] += f"\n{line.strip()}"
            elif not label:
                head.append(line.strip())
            else:
                label = ""
        yield name, Told(" ".join(head), lines)


CHECKS = {
    "junit": checks_of_junit,
    "sarif": checks_of_sarif,
    "github": checks_of_github,
    "markdown": checks_of_markdown,
    "html": checks_of_html,
}


def tables_of_markdown(text: str) -> Iterator[Rows]:
    """Each table with the bold line above it, and the paragraph below it."""
    caption = r"(?:\*\*(?P<caption>[^\n]*)\*\*\n\n)?(?P<table>(?:\|[^\n]*\n){2,})"
    pattern = caption + r"(?:\n(?P<below>[^|<#\n*-][^\n]*(?:\n[^\n]+)*))?"
    for found in re.finditer(pattern, text + "\n"):
        lines = [
            [
                html.unescape(re.sub(r"\\([^\w\s])", r"\1", cell.strip().strip("*")))
                for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]
            ]
            for line in found["table"].splitlines()
        ]
        yield Rows(found["caption"] or "", lines[0], lines[2:], found["below"] or "")


def tables_of_html(text: str) -> Iterator[Rows]:
    for table in re.findall(
        r"<table.*?</table>(?:\s*</div>)?(?:\s*<p[^>]*>.*?</p>)?", text, re.DOTALL
    ):
        rows = [
            [
                " ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split())
                for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
            ]
            for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
        ]
        caption = re.search(r"<caption[^>]*>(.*?)</caption>", table, re.DOTALL)
        words = html.unescape(re.sub(r"<[^>]+>", "", caption[1])) if caption else ""
        below = html.unescape(re.sub(r"<[^>]+>", " ", table.partition("</table>")[2]))
        if rows:
            yield Rows(words, rows[0], rows[1:], below)


def tables_of_screen(text: str) -> Iterator[Rows]:
    """Each table of a comparison on the first screen; a cell ends where its header ends."""
    for block in text.split("\n\n"):
        lines = block.splitlines()
        texts = [re.split(r" {2,}", line.strip()) for line in lines]
        heads = [index for index, cells in enumerate(texts) if cells[1:3] == ["count", "rate"]]
        if not heads:
            continue
        header = texts[heads[0]]
        ends = [one.end() for one in _CELL.finditer(lines[heads[0]])]
        rows: list[list[str]] = []
        below: list[list[str]] = []
        for line, cells in zip(lines[heads[0] + 1 :], texts[heads[0] + 1 :], strict=True):
            if cells[-1] == "reference":
                rows.append([*cells[:3], *[""] * (len(header) - 3), "reference"])
            elif len(cells) > 3:
                name, *numbers = _CELL.finditer(line)
                found = {0: name[0]} | {_nearest(ends, one.end()): one[0] for one in numbers}
                rows.append([found.get(at, "") for at in range(len(header) + 1)])
            else:
                below.append(cells)
        caption = " ".join(" ".join(cells) for cells in texts[: heads[0]])
        yield Rows(caption, [*header, ""], rows, " ".join(" ".join(cells) for cells in below))


_CELL = re.compile(r"\S+(?: \S+)*")


def _nearest(ends: list[int], end: int) -> int:
    """The column in which a cell ends; a mark after the last column belongs to it."""
    return min(range(len(ends)), key=lambda at: abs(ends[at] - end))


def gaps_of_screen(text: str) -> Iterator[Told]:
    """The widest gaps of a spec without limits."""
    pattern = r"^note: (.*?)\n   = sure: +(?:by [^:]*: )?([^;]*);"
    for headline, sure in re.findall(pattern, text, re.MULTILINE | re.DOTALL):
        sides = re.sub(r"\(([^)]*)\)", r"\1", f"first {sure}".replace(" against ", "\nsecond "))
        yield Told(" ".join(headline.split()), {"who": sides})


TABLES = {"markdown": tables_of_markdown, "html": tables_of_html}
