"""Files that take their place when they are whole."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import hopyard
import pytest
from hopyard.errors import path_of
from hopyard.files import whole, write_text
from short import command

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = {"duration": "1 s", "nodes": {"count": 2}, "flow": [{"from": 0, "to": 1}]}


def test_a_full_disk_keeps_the_former_file(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_text("former")

    def save(beside: Path) -> None:
        beside.write_text("a part")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        whole(path, save)
    assert caught.value.filename == str(path)
    assert path.read_text() == "former"
    assert [each.name for each in tmp_path.iterdir()] == ["picture.png"]


def test_a_link_and_a_device_stay(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("former")
    (tmp_path / "link").symlink_to("file")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    (tmp_path / "null").symlink_to("/dev/null")
    write_text(tmp_path / "null", "new")
    assert (tmp_path / "null").is_char_device()


@pytest.mark.parametrize("words", [("new", "chain", "-o", "/dev/full")])
def test_a_file_that_cannot_be_written_is_named(words: tuple[str, ...]) -> None:
    result = command(*words, "--force")
    assert result.exit_code == 3
    assert "/dev/full: No space left on device" in result.output


def test_a_circle_of_links_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(ValueError, match="its symbolic links form a circle"):
        path_of(loop, "a file")
    with pytest.raises(ValueError, match="its symbolic links form a circle"):
        hopyard.run(CHAIN, capture=loop)


def test_an_argument_that_is_no_path_is_named() -> None:
    with pytest.raises(TypeError, match="expected the name of a folder for the results"):
        hopyard.run(CHAIN, out=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected the name of a file for the capture, found 5"):
        hopyard.run(CHAIN, capture=5)  # type: ignore[arg-type]
