"""`mask`: hides user names, passwords, tokens and keys of addresses in any text that is shown.

Every text passes here before it leaves the program: errors and notices when they are made, results
before they are reported, lines on stderr, statements that are logged. More is hidden than must be
where an address is not well formed: a password may hold any sign.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from fairaudit.base.frozen import Frozen, astuple, field_names, replace

T = TypeVar("T")

HIDDEN = "***"

_PLAIN = frozenset({float, int, bool, type(None)})
"""Types without a text, which most values of a result have."""

_SCHEME = r"(?<![a-z0-9])[a-z][a-z0-9+.-]{1,40}:/+"
_NO_PORT = r"""(?!\d{0,5}(?:[/?\#,;\s'")\]]|$))"""
_USER = re.compile(
    rf"""(?P<scheme>{_SCHEME})
    (?:(?!\[)[^\s/:@]*:{_NO_PORT}(?:(?!:/)[^\n])*@   # user:password@, with any sign in the password
    |[^\s/]*@                                         # a user or a token alone
    |[^\s/:@]*:(?:[^\s@]{{0,300}}@)+                   # a password that begins as a port does
    |(?!\[)[^\s/:@]+:{_NO_PORT}(?P<cut>[^\s'"]+)      # an address that was cut within its password
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_JDBC = re.compile(r"(?P<scheme>\bjdbc:(?:\w[\w+.-]*:){1,3})(?=[^\s/])\S*@", re.IGNORECASE)
_BARE = re.compile(
    r"(?<![\w.%+~-])(?!mailto:)[\w.%+~-]{1,100}:(?!/)\S{1,200}@"
    r"(?=\[|localhost\b|[\w-]{1,100}(?:[:/]|\.\w))"
)
"""`user:password@host`, without a scheme."""
_ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")
_KEY = re.compile(r"""(?P<sign>^|[?&;\s'"(,])[ \t]*(?P<key>[\w.%-]{2,60})=""", re.MULTILINE)
"""The name of a parameter, or of a setting: `;Password=`, ` password=` of libpq, `;token=`."""
_PARAMETER = re.compile(
    r"""(?:(?!://|\?)[^&\n]){0,300}(?=&[\w.%-]+=)|[^&\s]*?(?=['"),.:]*(?:[&\s]|$))"""
)
_SETTING = re.compile(
    r"""'[^'\n]*'?|"[^"\n]*"?|\{[^}\n]*\}?|[^;\n]{0,300}(?=;)|[^\s;&'"]*?(?=[),.:]*(?:[\s;&'"]|$))"""
)
"""The values of either: up to the next one, even with spaces, else up to the end of a word."""

_SECRET = re.compile(
    r"pass(?:word|wd|phrase|file)|pwd|secret|token|(?:access|account|api|private)key|signature"
    r"|credential"
)
_SECRETS = {"sig", "key", "auth", "sas", "pass", "pw", "authorization"}
_EVIDENT = re.compile(r"password|passwd|pwd|secret|accountkey|sharedaccess|accesskey|apikey")
"""Names of secrets that are nothing else, also where no address is around them."""


def mask(text: str) -> str:
    """The text with `***` in place of what may let somebody in, if it holds an address with such.

    These are the user and the password before `@`, parameters and settings whose names say that
    they are secret (`password=`, `&token=`, `AccountKey=`, `sig=`), and access keys of AWS.
    """
    if "=" in text:
        text = _mask_pairs(text)
    if ":" in text:
        text = _USER.sub(_mask_user, text)
        if "@" in text:
            text = _BARE.sub(f"{HIDDEN}@", _JDBC.sub(rf"\g<scheme>{HIDDEN}@", text))
    return _ACCESS_KEY.sub(HIDDEN, text) if "IA" in text else text


def mask_all(value: T) -> T:
    """A record with every text in it masked; what holds nothing to mask is the same object."""
    return cast("T", _mask_within(value, {}, {}))


def _mask_within(value: Any, texts: dict[str, str], seen: dict[int, Any]) -> Any:  # noqa: ANN401  # any part of a record
    """A part of a record, masked; `texts` and `seen` parts are those that were masked before."""
    if type(value) is str:
        if value not in texts:
            texts[value] = mask(value)
        # Of equal texts each stays itself: a record is copied only where a text changes.
        return value if texts[value] == value else texts[value]
    if id(value) not in seen:
        parts = _parts_of(value)
        changed = {
            place: new
            for place, part in enumerate(parts)
            if type(part) not in _PLAIN and (new := _mask_within(part, texts, seen)) is not part
        }
        seen[id(value)] = _replace_parts(value, parts, changed) if changed else value
    return seen[id(value)]


def _parts_of(value: Any) -> Sequence[Any]:  # noqa: ANN401  # any part of a record
    """What a value is made of; nothing where it is no record, tuple, list or dictionary."""
    if isinstance(value, Frozen):
        return astuple(value)
    if isinstance(value, dict):
        return (*value, *value.values())
    return value if isinstance(value, tuple | list) else ()


def _replace_parts(value: Any, parts: Sequence[Any], changed: Mapping[int, Any]) -> Any:  # noqa: ANN401  # the same
    """The value with other parts at some places."""
    if isinstance(value, Frozen):
        names = field_names(value)
        return replace(value, **{names[place]: part for place, part in changed.items()})
    every = [changed.get(place, part) for place, part in enumerate(parts)]
    if isinstance(value, dict):
        return dict(zip(every[: len(value)], every[len(value) :], strict=True))
    return type(value)(*every) if hasattr(value, "_fields") else type(value)(every)


def _mask_user(match: re.Match[str]) -> str:
    return f"{match['scheme']}{HIDDEN}{'' if match['cut'] else '@'}"


def _mask_pairs(text: str) -> str:
    """The text without the values of parameters and settings that are secret."""
    shown, end = "", 0
    for match in _KEY.finditer(text):
        key, is_own = _plain(match["key"]), match["sign"] in {"?", "&", ";"}
        is_secret = _SECRET.search(key) or key in _SECRETS if is_own else _EVIDENT.search(key)
        if is_secret and match.start() >= end:
            pattern = _PARAMETER if match["sign"] in {"?", "&"} else _SETTING
            value = pattern.match(text, match.end())
            shown += text[end : match.end()] + HIDDEN
            end = match.end() if value is None else value.end()
    return shown + text[end:]


def _plain(key: str) -> str:
    if "%" in key:
        from urllib.parse import unquote  # takes milliseconds, and is rarely needed

        key = unquote(key)
    return re.sub(r"[\W_]", "", key).lower()
