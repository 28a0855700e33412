"""The kernel in C survives mutated bytes under sanitizers: nothing is read beyond its end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("fairaudit._kernel", reason="built without a C compiler")
import fuzz_parquet  # it needs the kernel

ATTACKS = float(os.environ.get("ATTACKS", "1"))


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("gcc"), reason="its sanitizers are those of gcc")
def test_no_pages_are_read_beyond_their_end(tmp_path: Path) -> None:
    told = fuzz_parquet.main(tmp_path, str(round(300_000 * ATTACKS)), "1")
    assert not told.endswith(" 0 counted")
