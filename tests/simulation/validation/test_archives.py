"""What is unpacked of an archive of cases, and what is refused."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.simulation.validation.sources import unpack


def packed(folder: Path, *members: tuple[str, bytes, str]) -> Path:
    """Return an archive of members: name, kind of tarfile, content or what a link leads to."""
    path = folder / "runs.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            if kind == tarfile.REGTYPE:
                member.size = len(content)
            else:
                member.linkname = content
            archive.addfile(member, io.BytesIO(content.encode()))
    return path


def test_files_folders_and_links_to_files_are_unpacked(tmp_path: Path) -> None:
    path = packed(
        tmp_path,
        ("runs", tarfile.DIRTYPE, ""),
        ("runs/a/system.json", tarfile.REGTYPE, "{}"),
        ("runs/b/system.json", tarfile.LNKTYPE, "runs/a/system.json"),
        ("runs/c/system.json", tarfile.SYMTYPE, "../a/system.json"),
    )
    unpack(path, tmp_path / "out")
    found = {str(file.relative_to(tmp_path / "out")): file for file in (tmp_path / "out").rglob("*.json")}
    assert {name: file.read_text() for name, file in found.items()} == {
        "runs/a/system.json": "{}",
        "runs/b/system.json": "{}",
        "runs/c/system.json": "{}",
    }
    assert not any(file.is_symlink() for file in found.values())


@pytest.mark.parametrize(
    ("name", "kind", "content", "problem"),
    [
        ("../evil", tarfile.REGTYPE, "x", "leads outside of the archive; pack its folder by a relative name"),
        ("/evil", tarfile.REGTYPE, "x", "leads outside of the archive; pack its folder by a relative name"),
        ("runs/pipe", tarfile.FIFOTYPE, "", "is no file, folder or link to a file of the archive"),
        ("runs/out", tarfile.SYMTYPE, "/etc/passwd", "is no file, folder or link to a file of the archive"),
        ("runs/out", tarfile.SYMTYPE, "missing", "is no file, folder or link to a file of the archive"),
    ],
)
def test_what_leads_outside_or_is_no_file_is_refused(
    name: str, kind: bytes, content: str, problem: str, tmp_path: Path
) -> None:
    path = packed(tmp_path, (name, kind, content))
    with pytest.raises(InputError) as caught:
        unpack(path, tmp_path / "in" / "out")
    assert str(caught.value) == f"{path}: {name} {problem}"
    assert list((tmp_path).rglob("evil")) == []
