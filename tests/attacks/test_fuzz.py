"""The kernel in C survives mutated bytes under sanitizers: nothing is read beyond its end."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import ATTACKS

pytest.importorskip("fairaudit._kernel", reason="built without a C compiler")
import fuzz_kernel  # it needs the kernel


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("gcc"), reason="its sanitizers are those of gcc")
@pytest.mark.parametrize("target", fuzz_kernel.TARGETS)
def test_nothing_is_read_beyond_its_end(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)  # our own driver, wherever it runs
    tries = round(100_000 * ATTACKS)
    told, tried = fuzz_kernel.fuzz(target, tmp_path, tries=tries)
    assert tried == tries
    counted = re.search(r"(\d+) counted$", told)
    assert counted is not None
    assert int(counted[1]) > tries / 100


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("gcc"), reason="its sanitizers are those of gcc")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(behind_closing & ~(bounds | opening))", "0"),
        ("size + SPARE_ENDS", "size / 8 + SPARE_ENDS"),
        ("count / fields != lines", "false"),
    ],
    ids=["text behind a quote", "too little memory", "lines of a multiple of fields"],
)
def test_a_wrong_kernel_is_found_out(
    right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "kernel"
    shutil.copytree(fuzz_kernel.KERNEL, kernel)
    content = (kernel / "csv_fields.c").read_text()
    assert right in content
    (kernel / "csv_fields.c").write_text(content.replace(right, wrong))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(fuzz_kernel, "KERNEL", kernel)
    with pytest.raises(RuntimeError):
        fuzz_kernel.fuzz("csv", tmp_path, tries=300_000)
    assert (tmp_path / "csv-last").stat().st_size
