"""Every message of an error: where it is raised, in which words, and whether a test raises it.

A message is found in the source by its call: of a class of error, of `Fault`, of a method `fault`,
or of the `ValueError` by which a shape of the spec refuses a value. What tests raise is recorded as
they run (`pytest --messages`), by the lines of the calls that led to it.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from conftest import ROOT

from fairaudit.base import errors
from fairaudit.base.errors import FairauditError, Fault, PlanFault
from fairaudit.spec import reading
from fairaudit.spec.reading import SchemaError

PACKAGE = ROOT / "fairaudit"
_INSIDE = f"{PACKAGE}/"
_ERRORS = {
    name
    for name, member in vars(errors).items()
    if isinstance(member, type) and issubclass(member, FairauditError | Fault | PlanFault)
}
_MAKERS = {*_ERRORS, "fault", "unreadable", "check_type"}
_SPEC = ("spec/", "codec/")
"""Where a `ValueError` is a message: a shape or the codec hands it on."""

_Known = Mapping[str, list[ast.expr]]


@dataclass(frozen=True, slots=True)
class Site:
    """A call that words a message: its lines, the kind of error, what is said and what to do."""

    file: str
    function: str
    first: int
    last: int
    kind: str
    message: str
    hint: str

    @property
    def key(self) -> tuple[str, int]:
        """What it is recorded by."""
        return self.file, self.first


@cache
def find_sites() -> tuple[Site, ...]:
    """Every site of the package that has words of its own, in the order of the files."""
    sites: dict[tuple[str, int, int], Site] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        constants = _list_assigned(tree.body)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for function in functions:  # an inner function comes after the one around it
            nodes = [*ast.walk(function)]
            assigned = _list_assigned(nodes)
            for call in nodes:
                if isinstance(call, ast.Call) and _is_maker(call, file):
                    known = {**constants, **_keep_last(assigned, nodes, call)}
                    site = _read(call, file, function.name, known)
                    if any(map(str.isalpha, site.message)):
                        sites[file, call.lineno, call.col_offset] = site
    return tuple(sites[key] for key in sorted(sites))


def _list_assigned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """What is assigned to names, in order."""
    known = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id].append(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            known[node.target.id].append(node.value)
    return known


def _is_maker(call: ast.Call, file: str) -> bool:
    """Whether a call words a message."""
    kind = _name_callee(call)
    return kind in _MAKERS or (kind == "ValueError" and file.startswith(_SPEC))


def _name_callee(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _keep_last(assigned: _Known, nodes: Iterable[ast.AST], call: ast.Call) -> _Known:
    """What names hold at a call: what was assigned since they were read before it."""
    read = defaultdict[str, int](int)
    for node in nodes:
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Name) and is_read and node.lineno < call.lineno:
            read[node.id] = max(read[node.id], node.lineno)
    return {
        name: [value for value in values if read[name] < value.lineno <= call.lineno] or values
        for name, values in assigned.items()
    }


def _read(call: ast.Call, file: str, function: str, known: _Known) -> Site:
    """The site of a call; its message is empty where that is made elsewhere."""
    kind = _name_callee(call)
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    arguments = [*call.args]
    if kind == "fault" and arguments and _says(arguments[0], known) in {"", None}:
        arguments = arguments[1:]  # the path comes first
    elif kind == "fault" and len(arguments) > 1 and _is_key(arguments[0]):
        arguments = arguments[1:]  # the same, as a key
    elif kind == "fault" and len(arguments) > 1 and _says(arguments[1], known):
        arguments = arguments[1:]  # the same, as a name of a key
    elif kind == "check_type":
        arguments = arguments[2:]  # the value and its types come first
    texts = [_says(argument, known) for argument in arguments]
    message = (texts[0] if texts else None) or ""
    if kind == "check_type" and message:
        kind, message = "UsageError", f"{message}, not a ‹…›"
    hint = texts[1] if len(texts) > 1 and kind in _ERRORS - {"Fault", "PlanFault"} else None
    hint = hint or _says(named.get("hint"), known) or ""
    last = call.end_lineno or call.lineno
    shown = "fault" if kind == "PlanFault" else kind
    return Site(file, function, call.lineno, last, shown, message, hint)


def _is_key(node: ast.expr) -> bool:
    """Whether an argument is the key of a spec, written out."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value


def _says(node: ast.expr | None, known: _Known) -> str | None:
    """What an expression reads, with `‹…›` where the run fills something in; None where no text."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr():
            return "".join(_says(part, known) or "‹…›" for part in node.values)
        case ast.FormattedValue(value=ast.Name() as name):
            return _says(name, known)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = _says(left, known), _says(right, known)
            return None if parts == (None, None) else "".join(part or "‹…›" for part in parts)
        case ast.IfExp(body=body, orelse=orelse):
            either = [text for text in (_says(body, known), _says(orelse, known)) if text]
            return " / ".join(either) or None
        case ast.Name(id=name) if name in known:
            every = [words for value in known[name] if (words := _says(value, {}))]
            return " / ".join(dict.fromkeys(every)) or None
        case ast.Call(func=ast.Attribute(attr="join"), args=[_]):
            return "‹…›"
        case _:
            return None


class Recorder:
    """Notes which lines of the package led to an error that was made."""

    def __init__(self) -> None:
        self.lines: set[tuple[str, int]] = set()

    def install(self, put: Callable[[Any, str, Any], None] = setattr) -> None:
        """Watches the classes of errors from now on; `put` sets an attribute."""
        note, own = self._note, FairauditError.__init__

        def init(instance: FairauditError, *arguments: Any, **named: Any) -> None:
            note(sys._getframe(1))
            # What msgspec was refused by a check of ours is the cause of the error that it became.
            error = sys.exception()
            while error is not None:
                self._note_raised(error)
                error = error.__cause__
            own(instance, *arguments, **named)

        def make_fault(make: Callable[..., Fault], *arguments: Any, **named: Any) -> Fault:
            note(sys._getframe(1))
            return make(*arguments, **named)

        put(FairauditError, "__init__", init)
        # A value of msgspec has no `__init__` to watch: its makers are, by their name for it.
        for file in {site.file for site in find_sites()} - {"base/errors.py"}:
            module = import_module(".".join(["fairaudit", *Path(file).with_suffix("").parts]))
            for name in ("Fault", "PlanFault"):
                if make := vars(module).get(name):
                    put(module, name, partial(make_fault, make))
        make_error = reading.SchemaError

        def refuse(*arguments: Any, **named: Any) -> SchemaError:
            self._note_raised(sys.exception())  # of the reader that refused a value
            return make_error(*arguments, **named)

        put(reading, "SchemaError", refuse)

    def _note(self, frame: FrameType | None) -> None:
        while frame is not None:
            self._add(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back

    def _note_raised(self, error: object) -> None:
        trace = error.__traceback__ if isinstance(error, BaseException) else None
        while trace is not None:
            self._add(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
            trace = trace.tb_next

    def _add(self, file: str, line: int) -> None:
        if file.startswith(_INSIDE):  # text: of each error there are a hundred frames
            self.lines.add((file.removeprefix(_INSIDE), line))


def list_untried(lines: Iterable[tuple[str, int]]) -> Iterator[Site]:
    """The sites that none of these lines is in."""
    tried = defaultdict(set)
    for file, line in lines:
        tried[file].add(line)
    for site in find_sites():
        if not tried[site.file] & {*range(site.first, site.last + 1)}:
            yield site


class Watch:
    """The plugin behind `--messages`: it records in each worker, and fails the run of them all."""

    def __init__(self, config: pytest.Config) -> None:
        self.recorder = Recorder()
        self.recorder.install()
        self.output: dict[str, Any] | None = getattr(config, "workeroutput", None)

    def pytest_testnodedown(self, node: Any) -> None:
        """Takes what a worker of pytest-xdist recorded."""
        lines = getattr(node, "workeroutput", {}).get("messages", ())
        self.recorder.lines |= {(file, line) for file, line in lines}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hands over what a worker recorded; of the whole run it tells what no test raises."""
        if self.output is not None:
            self.output["messages"] = sorted(self.recorder.lines)
        elif any(list_untried(self.recorder.lines)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Lists the messages that no test raises."""
        untried = [*list_untried(self.recorder.lines)]
        number = f"{len(untried)} of {len(find_sites())}"
        terminalreporter.section(f"{number} messages that no test raises")
        for site in untried:
            terminalreporter.line(f"{site.file}:{site.first}: {site.kind}: {site.message}")


_PREFACE = """\
# Messages

Every error message of `fairaudit`, sorted by the file that raises it. `‹…›` marks text that a run
fills in; a fault of a spec begins with its place (`spec.yaml:12:5: metrics[1].fail`). The last
column says what to do. The exit code is 2; for `NothingToAudit` it is 3. All
messages of kind `Fault` or `fault` in a spec are reported together, each with its line and a caret;
a `ValueError` becomes a fault. A reason that another module adds is also `‹…›`: why a filter is
wrong, for example, is in the list of `counting/filter.py`. `pytest --all --messages` fails if there
is an error here that no test raises.

Written from the source by `pytest --rewrite-goldens tests/unit/test_messages.py`.
"""


def render_page() -> str:
    """The page of all messages, docs/messages.md."""
    lines = [_PREFACE]
    by_file = defaultdict(list)
    for site in find_sites():
        by_file[site.file].append(site)
    for file, sites in by_file.items():
        lines += [f"## {file}", "", "| in | error | message | what to do |", "|---|---|---|---|"]
        for site in sites:
            cells = (f"`{site.function}`", site.kind, site.message, site.hint)
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """A text in a cell: one line, with no sign that ends the cell or is one of Markdown's own."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    parts[::2] = [part.replace("<", "&lt;").replace("{", "&#123;") for part in parts[::2]]
    return "`".join(parts)
