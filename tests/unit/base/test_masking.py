"""What lets somebody in is hidden in every text, whatever the address looks like."""

from __future__ import annotations

import random
import time

import pytest

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import FairauditError, Fault, Place, SpecError
from fairaudit.base.frozen import Frozen
from fairaudit.base.masking import mask, mask_all
from fairaudit.metrics import CATALOGUE

MASKED = {
    "postgresql+psycopg2://ana:hush@db.example.org/x?table=t": (
        "postgresql+psycopg2://***@db.example.org/x?table=t"
    ),
    "mariadb:/ana:hush@h/db": "mariadb:/***@h/db",  # a path made of an address
    "MSSQL+pyodbc://sa:hu@sh@h/db": "MSSQL+pyodbc://***@h/db",
    "https://hush@example.org/r.git": "https://***@example.org/r.git",
    "oracle://ana:hu/sh@h": "oracle://***@h",
    "oracle+oracledb://ana/hush@h.org/x": "oracle+oracledb://***@h.org/x",
    "ldap://h/?bindpw=hush": "ldap://h/?bindpw=***",
    "duckdb:///x.db?encryption_key=hush&a=1": "duckdb:///x.db?encryption_key=***&a=1",
    "oracle://ana:1/hush@h": "oracle://***@h",
    "oracle://ana:hu sh@h": "oracle://***@h",
    "s3a://key:hush@bucket/x.parquet": "s3a://***@bucket/x.parquet",
    "abfss://hush@a.dfs.core.windows.net/p": "abfss://***@a.dfs.core.windows.net/p",
    "jdbc:oracle:thin:scott/hush@//h:1521/s": "jdbc:oracle:thin:***@//h:1521/s",
    "jdbc:sqlserver://h:1433;user=sa;password=hush;x=1": (
        "jdbc:sqlserver://h:1433;user=sa;password=***;x=1"
    ),
    "jdbc:mysql://h/db?user=u&password=hush": "jdbc:mysql://h/db?user=u&password=***",
    "xx://h/db?%70assword=hush&a=1": "xx://h/db?%70assword=***&a=1",
    "xx://h/db?password=hu sh&a=1": "xx://h/db?password=***&a=1",
    "https://h/x?a=1&access_token=hush.": "https://h/x?a=1&access_token=***.",
    "https://a.blob.core.windows.net/c?sv=1&sig=hush%3D&se=2": (
        "https://a.blob.core.windows.net/c?sv=1&sig=***&se=2"
    ),
    "https://b.s3.amazonaws.com/x?X-Amz-Signature=hush&X-Amz-Date=1": (
        "https://b.s3.amazonaws.com/x?X-Amz-Signature=***&X-Amz-Date=1"
    ),
    "sc://h:15002/;use_ssl=true;token=hush;user_id=u": (
        "sc://h:15002/;use_ssl=true;token=***;user_id=u"
    ),
    "Server=h;Uid=sa;Pwd=hu sh;Database=x": "Server=h;Uid=sa;Pwd=***;Database=x",
    "AccountName=a;AccountKey=hush==;EndpointSuffix=x": (
        "AccountName=a;AccountKey=***;EndpointSuffix=x"
    ),
    "host=h password='hu sh' dbname=x": "host=h password=*** dbname=x",
    "Driver={X};PWD={hu;sh};": "Driver={X};PWD=***;",
    "a=1 password=hush; b=2": "a=1 password=***; b=2",
    "no xx://h/a.csv?sig=hush&se=1: the end '.csv?sig=hush&se=1'": (
        "no xx://h/a.csv?sig=***&se=1: the end '.csv?sig=***&se=1'"
    ),
    "ana:hush@db.example.org:5432/x": "***@db.example.org:5432/x",
    "the key AKIAHUSHHUSHHUSHHUSH is old": "the key *** is old",
    "there is no file 'xx://u:hush' here": "there is no file 'xx://***' here",  # it was cut
    "xx://ana:12 hush@h:1/x": "xx://***@h:1/x",
    "password = hush": "password = ***",
    "host=h password= hush dbname=x": "host=h password= *** dbname=x",
    "{url: x, password : hu sh, pwd: 'hush'}": "{url: x, password : ***, pwd: ***}",
    '{"Password":"hush","a":1}': '{"Password":***,"a":1}',
    "#password=hush": "#password=***",
    "data:password=hush": "data:password=***",
    "a|pwd=hush|b": "a|pwd=***",
    "[pwd=hush, {secret=hush": "[pwd=***, {secret=***",
    "--password=hush": "--password=***",
    "https://h/#access_token=hush&a=1": "https://h/#access_token=***&a=1",
    "Driver={X};PWD={hu}}sh};Database=x": "Driver={X};PWD=***;Database=x",
    "mssql:///?odbc_connect=Driver%3DX%3BPWD%3Dhush%3B&a=1": "mssql:///?odbc_connect=***&a=1",
    "mssql:///?x=Driver%3DX%3BPWD%3Dhush%3BA%3D1": "mssql:///?x=Driver=X;PWD=***;A=1",
    r'data: "postgresql:\/\/ana:hush@h\/db"': 'data: "postgresql://***@h/db"',
    r'data: "xx://h/db?a=1\u0026token=hush"': 'data: "xx://h/db?a=1&token=***"',
    "no scott/hush@db.example.org:1521/orcl": "no ***@db.example.org:1521/orcl",
    "scott/hu/sh@//h:1521/s": "***@//h:1521/s",
    "scott/hush@db.example.org/orcl": "***@db.example.org/orcl",
    "as scott/hush@//dbhost/orcl": "as ***@//dbhost/orcl",
    "xx://h/d?passcode=hush&b=1": "xx://h/d?passcode=***&b=1",
    "xx://h/d?jwt=hush&b=1": "xx://h/d?jwt=***&b=1",
    "api_key=hush": "api_key=***",
    "aws_secret_access_key=hush": "aws_secret_access_key=***",
    "xx://h/d?sas=hush&sas_token=hush": "xx://h/d?sas=***&sas_token=***",
    "xx://u:hush@h and yy://v:hush@i": "xx://***@h and yy://***@i",
    "https://h/x.csv?code=hush&a=1": "https://h/x.csv?code=***&a=1",
    "https://h/x?a=1&cf=Zq8f3hushB2kLmN9xyT4w&b=1": "https://h/x?a=1&cf=***&b=1",
    "https://h/x?hh=0123456789abcdef0123456789abcdef": "https://h/x?hh=***",
    "https://h/x?%2563ode=hush": "https://h/x?%63ode=***",
    "xx%253A%252F%252Fh%253Fpassword%253Dhu%252526sh%2526a%253D1": "xx://h?password=***&a=1",
    "CREATE SECRET (KEY_ID 'a', SECRET 'hush')": "CREATE SECRET (KEY_ID 'a', SECRET ***)",
    "ALTER USER u PASSWORD 'hush'; x": "ALTER USER u PASSWORD ***; x",
    r"{\"password\": \"hush\", \"a\": 1}": '{"password": ***, "a": 1}',
}
KEPT = (
    "s3://bucket/a:b/x.parquet",
    "postgresql://one:5432,two:5432/db?table=t",
    "https://[::1]:8080/x",
    "https://example.org/@someone/page",
    "https://doi.org/10.1000/182; fail if below=0.8",
    "write to ana@example.org, or see https://example.org:8080/a",
    "duckdb:///lake.db?table=loans",
    "sc://host/;user_id=me@firm?table=t",
    "token=visa, sex=f: 12:30",
    "C:/data/x@y.csv",
    "mailto:ana@example.org",
    "Loans (contact:ana@example.org, E-Mail:eva@example.org)",
    "x = 'a:b' and token = 1",
    "password_age = 3 and secrets_kept = 1",
    "user/repo:1@x, 100%",
    "missing: {tokens: [NA], passwords: drop}",
    "xx://secret:80/x",
    r"C:\u0041\x41 %41",
    "/etc/passwd: no such file",
    "cannot open '/run/secret': Permission denied",
    r"C:\data\password: no such file",
    "postgresql://h/x?table=loans_of_2024_first_quarter",
    "https://h/x.csv?X-Amz-Date=20240101T000000Z&code2=5",
    "%2525 of 100 %252525",
)


@pytest.mark.parametrize("text", MASKED)
def test_a_secret_is_hidden_and_the_rest_is_shown(text: str) -> None:
    assert mask(text) == MASKED[text]
    assert mask(mask(text)) == mask(text)
    assert mask(f"at line 3: {text}\nnext") == f"at line 3: {MASKED[text]}\nnext"


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_secret_is_kept(text: str) -> None:
    assert mask(text) == text


def test_a_password_of_any_signs_is_hidden() -> None:
    """A law: no run of three signs of a password is left, wherever an address holds it."""
    chance = random.Random(4)
    signs = "aB0:/@?#&=;%[] '\"\\.,+-_"
    for _ in range(3_000):
        password = "".join(chance.choices(signs, k=chance.randint(8, 14)))
        if ":/" in password or not password.strip(signs[4:]):
            continue
        password = f"Zq{password}Zq"
        scheme = chance.choice(["mssql", "oracle+cx", "hive2", "postgresql", "Spark"])
        shown = mask(f"{scheme}://ana:{password}@db.example.org:1/x?table=t")
        assert shown == f"{scheme}://***@db.example.org:1/x?table=t", password


def test_a_password_is_hidden_however_deep_its_address_is_escaped() -> None:
    """A law: signs are escaped, and the percent signs of that again, as often as 40 times."""
    chance = random.Random(7)
    addresses = (
        "mssql://ana:ZqhushZq@h:1/x",
        "https://h/x?a=1&password=ZqhushZq&b=1",
        "host=h; password=ZqhushZq; x=1",
        "jdbc:oracle:thin:ana/ZqhushZq@//h:1/s",
    )
    for number in range(400):
        text = chance.choice(addresses)
        how_many = chance.choice([1, 1, 0.5])
        for _ in range(number % 41):
            signs = "%" if "%" in text else ":/?&=@;"
            text = "".join(
                f"%{ord(sign):02x}"
                if sign == "%" or (sign in signs and chance.random() < how_many)
                else sign
                for sign in text
            )
        assert "hush" not in mask(text), text
        assert mask(f"at line 3: {text}") == f"at line 3: {mask(text)}"


@pytest.mark.long
@pytest.mark.parametrize(
    "piece",
    ["a://b:c", "a", "a:", "x=y;", "p=;", " a=", "://", "jdbc:a:", "a:b@", "ab:/", "?ab=", "'ab=",
     '"pwd="', "@", "ab:/x:/", "ab:/x:y ", "{", "pwd={", "%25", "%5Cu0025", "%%32%35",
     "?a=A1a", "25"],
)  # fmt: skip
def test_a_text_of_200_000_signs_takes_no_time(piece: str) -> None:
    began = time.process_time()
    mask(piece * (200_000 // len(piece)))
    mask(f"ab://c:{piece * (200_000 // len(piece))}")
    assert time.process_time() - began < 20


def test_errors_and_notices_are_masked_when_they_are_made() -> None:
    error = FairauditError("xx://u:hush@h", "see yy://u:hush@h", uncounted="zz://u:hush@h")
    place = Place("s.yaml", 1, 7)
    spec = SpecError([Fault("no xx://u:hush@h", "data", place, "data: xx://u:hush@h")])
    notice = Notice("xx://u:hush@h is not read", Subjects.NOBODY)
    published = str(error.published())
    for text in (str(error), str(error.args), published, str(spec), repr(spec.faults), notice):
        assert "hush" not in text
        assert "***" in text


class _Row(Frozen):
    name: str
    parts: tuple[object, ...] = ()


def test_every_text_of_a_record_is_masked_and_the_rest_is_the_same_object() -> None:
    kept = _Row("a", (1.5, None))
    row = _Row("xx://u:hush@h", (kept, {"yy://u:hush@h": ["zz://u:hush@h", 1]}))
    masked = mask_all(row)
    assert masked == _Row("xx://***@h", (kept, {"yy://***@h": ["zz://***@h", 1]}))
    assert masked.parts[0] is kept
    assert mask_all(kept) is kept


def test_names_of_columns_and_levels_are_kept_and_stay_different() -> None:
    """None of these is an address; where names hold one, different names stay different."""
    names = ("w:1@a.b", "w:2@a.b", "pwd=yes", "contact:ana@x.org", "scott/x@h:1521/s")
    assert mask_all(_Row("a", names)).parts is names
    masked = mask_all(("xx://u:hush@h", "xx://v:hush@h", "xx://u:hush@h", "xx://w@h"))
    assert masked == ("xx://***@h", "xx://***@h#2", "xx://***@h", "xx://***@h#3")


def test_a_record_without_a_secret_is_the_same_object() -> None:
    """Also with equal texts that are different objects: records of the catalogue go by identity."""
    first, second = (str(b"a mean of labels", "ascii") for _ in range(2))
    assert first is not second
    notices = (Notice(first, Subjects.NOBODY), Notice(second, Subjects.NOBODY))
    assert mask_all(notices) is notices
    for record in CATALOGUE:
        assert mask_all((record, record.title)) == (record, record.title)
        assert mask_all(record) is record
