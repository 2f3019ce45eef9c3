"""Kernels with Wi-Fi and kernels with patches of the user: their names, what is refused, and how a patch is applied."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import hopyard
import pytest
from hopyard.kernels import build, cache
from short import refused
from test_kernels import add, two

if TYPE_CHECKING:
    from pathlib import Path

PATCH = """\
--- a/net/one.c
+++ b/net/one.c
@@ -1,3 +1,3 @@
 a
-b
+B
 c
@@ -21,3 +21,3 @@
 u
-v
+V
 w
--- a/net/two.c
+++ b/net/two.c
@@ -1 +1 @@
-x
+X
"""


def _tree(folder: Path) -> Path:
    """A source that the patch fits."""
    (folder / "net").mkdir(parents=True)
    (folder / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\n", encoding="utf-8")
    (folder / "net" / "one.c").write_text("\n".join("abcdefghijklmnopqrstuvwxyz") + "\n", encoding="utf-8")
    (folder / "net" / "two.c").write_text("x\n", encoding="utf-8")
    return folder


@pytest.mark.usefixtures("empty")
def test_a_kernel_with_wifi_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_output", lambda _: "gcc 1")
    monkeypatch.setattr(build, "TOOLS", {})
    source, patch = _tree(tmp_path / "linux-6.1.9"), tmp_path / "own.patch"
    patch.write_text(PATCH, encoding="utf-8")
    plain, wifi = (build.recipe(None, source, wifi=it) for it in (False, True))
    both = build.recipe(None, source, [patch], wifi=True)
    number = build.recipe(None, source, [patch]).name.removeprefix("6.1+")
    assert [it.name for it in (plain, wifi, both)] == ["6.1", "6.1+wifi", f"6.1+wifi-{number}"]
    assert len({it.key() for it in (plain, wifi, both)}) == 3
    assert all(cache.is_version(it.name) for it in (plain, wifi, both))
    # The usual kernel has none of it: more room for headers would change what TCP's memory is counted as.
    assert "MAC80211" not in plain.configuration.read_text(encoding="utf-8")
    assert [path.name for path in wifi.configurations] == ["fragment.config", "wifi.config"]
    commands = {name: cache.building(name) for name in ("6.1", "6.1+wifi", "6.1+0123abcd", "6.12+wifi-0123abcd")}
    assert commands == {
        "6.1": "hopyard kernels build 6.1",
        "6.1+wifi": "hopyard kernels build 6.1 --wifi",
        "6.1+0123abcd": "hopyard kernels build 6.1 --patch FILE",
        "6.12+wifi-0123abcd": "hopyard kernels build 6.12 --wifi --patch FILE",
    }
    with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.1 --wifi` makes it"):
        cache.newest("6.1+wifi")


def test_an_option_that_a_version_cannot_have_is_refused_and_no_kernel_is_built_for_it(empty: Path) -> None:
    mac = {"model": "edca", "rate_control": "minstrel_ht", "edca": {"standard": "n", "band": "2.4 GHz", "rate": "mcs7"}}
    nodes = {"count": 2, "spacing": "50 m", "system": "linux"}

    def of(version: str) -> hopyard.Scenario:
        linux = {"version": version, "wifi": "ibss"}
        return hopyard.Scenario(name="n", duration="1 s", runs=1, nodes=nodes, mac=mac, linux=linux)

    file = empty / "n.toml"
    file.write_text(of("6.12").to_toml())
    text = r'n: Linux 6\.12\+wifi cannot have CONFIG_MAC80211_HWSIM_AMPDU, .* expected `version = "6\.1"` in \[linux\]$'
    with pytest.raises(ValueError, match=text):
        hopyard.run(of("6.12"))
    done = refused("check", file)
    assert "cannot have CONFIG_MAC80211_HWSIM_AMPDU" in done.stderr
    assert "hopyard kernels build" not in done.output
    # A version that can have it, and a patch of the user's own, which may bring it, are to be built.
    for version, command in (("6.1", "6.1 --wifi"), ("6.12+wifi-0123abcd", "6.12 --wifi --patch FILE")):
        with pytest.raises(ValueError, match=f"`hopyard kernels build {re.escape(command)}` makes it"):
            hopyard.run(of(version))


def test_a_kernel_with_patches_of_the_user_has_a_name_and_a_key_of_its_own(
    tmp_path: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_output", lambda _: "gcc 1")
    monkeypatch.setattr(build, "TOOLS", {})
    source, patch, other = _tree(tmp_path / "linux-6.1.9"), tmp_path / "own.patch", tmp_path / "other.patch"
    patch.write_text(PATCH, encoding="utf-8")
    other.write_text(PATCH.replace("+X", "+Y"), encoding="utf-8")
    plain = build.recipe(None, source)
    wanted = [build.recipe(None, source, own) for own in ([patch], [other], [patch, other], [other, patch])]
    assert plain.name == "6.1"
    assert all(cache.is_version(it.name) and it.name.startswith("6.1+") for it in wanted)
    assert len({plain.name, *(it.name for it in wanted)}) == 5
    assert len({plain.key(), *(it.key() for it in wanted)}) == 5
    again = tmp_path / "moved.patch"
    again.write_text(PATCH, encoding="utf-8")
    assert build.recipe(None, source, [again]).name == wanted[0].name, "the content counts"

    # Each is found by its name, however new the others are.
    name = wanted[0].name
    add(empty, "6.1-a")
    patched = add(empty, f"{name}-b", version=name, made="2026-12-02T03:04:05+00:00")
    assert cache.newest("6.1").folder == empty / "6.1-a"
    assert cache.newest(name).folder == patched
    assert [kernel.version for kernel in cache.built()] == ["6.1", name]
    with pytest.raises(
        ValueError, match=r"no kernel 6\.1\+0123abcd.*`hopyard kernels build 6\.1 --patch FILE` makes it"
    ):
        cache.newest("6.1+0123abcd")
    broken = ("6.1+", "6.1+123", "6.1+0123ABCD", "6.6+0123abcd")
    for wrong in (*broken, "6.1+wifi-", "6.1+wifi0123abcd", "6.1+0123abcd-wifi"):
        with pytest.raises(ValueError, match="one with patches such as"):
            cache.newest(wrong)
    with pytest.raises(hopyard.ScenarioError, match=r"(?s)no kernel 6\.1\+0123abcd|expected \"6\.1\""):
        hopyard.run(two(linux={"version": "6.1+0123abcg"}))


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch")
def test_a_patch_is_applied_or_its_faulty_hunks_are_named(tmp_path: Path) -> None:
    def applied(name: str, text: str) -> Path:
        patch, source = tmp_path / f"{name}.patch", _tree(tmp_path / name)
        patch.write_text(text, encoding="utf-8")
        build._apply(patch, build._Steps(tmp_path / f"{name}.log"), source)
        return source

    source = applied("good", PATCH)
    assert (source / "net" / "one.c").read_text(encoding="utf-8").startswith("a\nB\nc\n")
    assert (source / "net" / "two.c").read_text(encoding="utf-8") == "X\n"

    def faults(name: str, text: str) -> str:
        with pytest.raises(build.BuildError) as caught:
            applied(name, text)
        return str(caught.value)

    told = faults("other", PATCH.replace("-v\n", "-q\n").replace("-x\n", "-y\n"))
    assert f"{tmp_path / 'other.patch'} does not fit the source: " in told
    assert told.endswith("hunk 2 of net/one.c, at line 21; hunk 1 of net/two.c, at line 1")
    assert faults("absent", PATCH.replace("two.c", "three.c")).endswith("there is no file net/three.c")
    assert "malformed patch at line" in faults("cut", PATCH.replace("@@ -1,3 +1,3 @@", "@@ -1,5 +1,5 @@"))


def test_a_file_that_is_no_patch_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_output", lambda _: "gcc 1")
    source, patch = _tree(tmp_path / "linux-6.1.9"), tmp_path / "own.patch"
    for content in (b"", b"\xff\xfe", b"bbr3\n"):
        patch.write_bytes(content)
        done = refused("kernels", "build", "--source", source, "--patch", patch)
        assert "own.patch: expected a patch as `git diff` and `diff -u` write it" in done.stderr
    assert "does not exist" in refused("kernels", "build", "--patch", tmp_path / "none").stderr
