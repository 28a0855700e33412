"""`mask`: replaces user names, passwords, tokens and access keys by `***` in texts that are shown.

Every text passes through this module before it leaves the program: errors and notices when they are
made, results before they are reported, lines on stderr, statements that are logged. In a malformed
address `mask` hides more than the password, because a password may contain any character. Names of
columns and levels are data, so `mask_name` changes only names that contain an address or settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar, cast

from fairaudit.base.frozen import Frozen, astuple, field_names, replace

T = TypeVar("T")

HIDDEN = "***"

_FREE_TEXTS = frozenset({"title", "context", "about", "data", "path", "spec_path", "reason"})
"""Fields of free text, which may contain a malformed address."""

_TYPES_WITHOUT_TEXT = frozenset({float, int, bool, type(None), Fraction, Decimal})
"""Types of most values of a result. They need no masking."""

_SCHEME = r"(?<![a-z0-9])[a-z][a-z0-9+.-]{1,40}:/+"
_NO_PORT = r"""(?!\d{0,5}(?:[/?\#,;\s'")\]]|$))"""
_NO_PORT_NOR_BLANK = _NO_PORT.replace(r"\s", "")
_USER = re.compile(
    rf"""(?P<scheme>{_SCHEME})
    (?:(?!\[)[^\s/:@]*:{_NO_PORT_NOR_BLANK}(?:(?!:/)[^\n])*@  # user:password@, with any sign
    |[^\s/]*@                                         # a user or a token alone
    |[^\s/:@]*:(?:[^\s@]{{0,300}}@)+                   # a password that begins like a port
    |(?!\[)[^\s/:@]+:{_NO_PORT}(?P<cut>[^\s'"]+)      # an address that ends inside its password
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_JDBC = re.compile(
    r"(?P<scheme>\b(?:jdbc:(?:\w[\w+.-]*:){1,3}|oracle[\w+]*:/+))(?=[^\s/])\S*@", re.IGNORECASE
)
"""`jdbc:oracle:thin:user/password@host`, and `oracle://user/password@host`."""
_BARE = re.compile(
    r"(?<![\w.%+~-])(?!(?:mailto|e?-?mail|contact|owner|author|from|to|cc):)"
    r"[\w.%+~-]{1,100}:(?!/)\S{1,200}@"
    r"(?=\[|localhost\b|[\w-]{1,100}(?:[:/]|\.\w))",
    re.IGNORECASE,
)
"""`user:password@host`, without a scheme."""
_AFTER_SLASHES = re.compile(r"(?<=//)[^\s/@:]{1,100}:[^\s/@]{1,200}@")
"""`//user:password@host`, of any host."""
_EZCONNECT = re.compile(
    r"(?<![\w./:@$#-])[\w$#]{1,60}/[^\s@]{1,100}@(?=(?://)?[\w.-]{1,100}(?::\d{2,5}\b|/\w))"
)
"""`user/password@host:1521/service` and `user/password@host/service` of Oracle."""
_ESCAPED = re.compile(r"\\([/\"'])|(?:\\u00|\\x|%)([2-7][0-9a-f])", re.IGNORECASE)
"""An escaped character in JSON, YAML or an address: `\\/`, `\\"`, `\\u0026`, `%3D`."""
_STATEMENT = re.compile(r"([(,]\s*secret|\bpassword|\bidentified by)(\s+)'[^'\n]*'?", re.IGNORECASE)
"""`SECRET 'x'`, `PASSWORD 'x'` and `IDENTIFIED BY 'x'` of SQL."""
_DEEPEST = "%25252525"
_DEEPER = re.compile(rf"{_DEEPEST}(?:25)+")
"""Escapes of escapes (`%252525…3A`), deeper than the levels that `mask` decodes one by one."""
_ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")
_KEY_OF_PAIR = re.compile(
    r"""(?P<sign>^|[^\w.%-])(?P<key>[\w.%-]{2,60})(?P<gap>["']?[ \t]{0,20})"""
    r"""(?:=|(?P<entry>:)(?=[ \t"']))[ \t]{0,20}""",
    re.MULTILINE,
)
"""The name in a pair: a parameter, a setting (`;Password=`, libpq: ` password = `), a YAML key."""
_PARAMETER = re.compile(
    r"""(?:(?!://|\?)[^&\n]){0,300}(?=&[\w.%-]+=)|[^&\s]*?(?=['"),.:]*(?:[&\s]|$))"""
)
_SETTING = re.compile(
    r"""'[^'\n]*'?|"[^"\n]*"?|\{(?:[^}\n]|\}\})*\}?|[^;\n]{0,300}(?=;)|[^\s;&'"]*?(?=[),.:]*(?:[\s;&'"]|$))"""
)
_ENTRY = re.compile(r"""'[^'\n]*'?|"[^"\n]*"?|[^,}\]\n]*""")
"""Values of parameters, settings and YAML keys: up to the next pair, or to the end of the word."""

_SECRET_PART = re.compile(
    r"pass(?:word|wd|phrase|file|code)|pwd|bindpw|secret|token"
    r"|(?:access|account|api|private|encryption|master)key|signature|credential"
)
_SECRET_NAMES = {
    "sig", "sign", "hmac", "key", "auth", "sas", "pass", "pw", "authorization", "jwt",
    "odbcconnect", "code", "otp", "ticket", "assertion", "session", "sessionid", "sid",
}  # fmt: skip
_LIKE_A_KEY = re.compile(
    r"(?:[0-9a-fA-F-]{32,300}"
    r"|(?=[\w+/=~.%-]{0,99}[a-z])(?=[\w+/=~.%-]{0,99}[A-Z])(?=[\w+/=~.%-]{0,99}\d)[\w+/=~.%-]{20,300})"
    r"(?![\w+/=~%-])"
)
"""A value that looks like an access key. It is hidden in every parameter."""
_ALWAYS_SECRET = re.compile(
    r"pass(?:word|wd|code|phrase)|pwd|secret|sharedaccess|(?:account|access|api|private)key|jwt"
    r"|(?:sas|auth|access|bearer)token"
)
"""Names that mean a secret wherever they occur, even outside an address."""


def mask(text: str) -> str:
    """The text with `***` in place of credentials.

    Credentials are the user and the password before `@`, values of parameters and settings with the
    name of a secret (`password=`, `&token=`, `AccountKey=`, `sig=`), and access keys of AWS.
    Credentials with escaped characters are found, too.
    """
    text = _mask_unescaped(text)
    plain = _DEEPER.sub(_DEEPEST, text) if "%25" in text else text
    for _ in range(2 * len(_DEEPEST)):
        escaped = plain
        if "\\" in plain or "%" in plain:
            plain = _ESCAPED.sub(lambda sign: sign[1] or chr(int(sign[2], 16)), plain)
        if plain == escaped:
            break
        # Mask at each level of escapes: a decoded `&` or `;` would seem to end the password.
        masked = _mask_unescaped(plain)
        text, plain = text if masked == plain else masked, masked
    return text


def mask_name(text: str) -> str:
    """The name of a column, a level or a check, masked if it contains an address or settings."""
    is_address = ":/" in text or "jdbc:" in text or ("//" in text and "@" in text)
    return mask(text) if is_address or text.count("=") > 1 else text


def _mask_unescaped(text: str) -> str:
    if "=" in text or ":" in text:
        text = _mask_pairs(text)
    if ":" in text:
        text = _USER.sub(lambda user: f"{user['scheme']}{HIDDEN}{'' if user['cut'] else '@'}", text)
    if "@" in text:
        text = _AFTER_SLASHES.sub(f"{HIDDEN}@", text)
        text = _BARE.sub(f"{HIDDEN}@", _JDBC.sub(rf"\g<scheme>{HIDDEN}@", text))
        text = _EZCONNECT.sub(f"{HIDDEN}@", text)
    if "'" in text:
        text = _STATEMENT.sub(rf"\1\2{HIDDEN}", text)
    return _ACCESS_KEY.sub(HIDDEN, text) if "IA" in text else text


def mask_all(value: T) -> T:
    """The record with all its texts masked. Parts without credentials stay the same objects.

    Fields of free text (`_FREE_TEXTS`) are masked by `mask`, all other texts by `mask_name`.
    Different texts stay different: if two masked texts would be equal, the second gets a number
    (`***#2`).
    """
    return cast("T", _mask_within(value, _Masker(mask_name, _Masker(mask))))


class _Masker:
    """A function that masks, and its results so far; `free_texts` masks fields of free text."""

    def __init__(self, masks: Callable[[str], str], free_texts: _Masker | None = None) -> None:
        self.masks = masks
        self.free_texts = free_texts or self
        self.texts: dict[str, str] = {}
        self.seen: dict[int, Any] = {}


def _mask_within(value: Any, known: _Masker) -> Any:  # noqa: ANN401  # any part of a record
    if type(value) is str:
        if value not in known.texts:
            # The masked text, distinct from earlier masked texts.
            masked = name = known.masks(value)
            if masked != value:
                number = 1
                while name in known.texts:
                    number += 1
                    name = f"{masked}#{number}"
                known.texts[name] = name
            known.texts[value] = name
        # An unchanged text must stay the same object, or its record would be copied.
        return value if known.texts[value] == value else known.texts[value]
    if id(value) not in known.seen:
        names: Sequence[str] = ()
        parts: Sequence[Any] = ()
        if isinstance(value, Frozen):
            names, parts = field_names(value), astuple(value)
        elif isinstance(value, dict):
            parts = (*value, *value.values())
        elif isinstance(value, tuple | list):
            parts = value
        changed = {}
        for place, part in enumerate(parts):
            if type(part) not in _TYPES_WITHOUT_TEXT:
                is_free = bool(names) and names[place] in _FREE_TEXTS
                new = _mask_within(part, known.free_texts if is_free else known)
                if new is not part:
                    changed[place] = new
        known.seen[id(value)] = _replace_parts(value, parts, changed) if changed else value
    return known.seen[id(value)]


def _replace_parts(value: Any, parts: Sequence[Any], changed: Mapping[int, Any]) -> Any:  # noqa: ANN401  # any part
    if isinstance(value, Frozen):
        names = field_names(value)
        return replace(value, **{names[place]: part for place, part in changed.items()})
    every = [changed.get(place, part) for place, part in enumerate(parts)]
    if isinstance(value, dict):
        return dict(zip(every[: len(value)], every[len(value) :], strict=True))
    return type(value)(*every) if hasattr(value, "_fields") else type(value)(every)


def _mask_pairs(text: str) -> str:
    """The text without the values of secret parameters and settings."""
    shown, end = "", 0
    for match in _KEY_OF_PAIR.finditer(text):
        key, is_in_address = match["key"], match["sign"] in {*"?&;#|"}
        if "%" in key:
            from urllib.parse import unquote  # takes milliseconds, and is rarely needed

            key = unquote(key)
        key = re.sub(r"[\W_]", "", key).lower()
        is_secret: object = _ALWAYS_SECRET.search(key)
        if is_in_address:
            is_secret = _SECRET_PART.search(key) or key in _SECRET_NAMES
        if match["gap"] or match["entry"]:  # may be a filter: `password_age = 3`
            is_path = match["entry"] and match["sign"] in {"/", "\\"}  # `/etc/passwd: not found`
            is_secret = not is_path and _ALWAYS_SECRET.fullmatch(key)
        is_parameter = match["sign"] in {"?", "&"}
        is_secret = is_secret or (is_parameter and _LIKE_A_KEY.match(text, match.end()))
        if is_secret and match.start() >= end:
            pattern = _PARAMETER if is_parameter else _SETTING
            pattern = _ENTRY if match["entry"] else pattern
            value = pattern.match(text, match.end())
            shown += text[end : match.end()] + HIDDEN
            end = match.end() if value is None else value.end()
    return shown + text[end:]
