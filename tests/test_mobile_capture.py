"""Captures of hosts that move between networks, as tshark reads them, against the scenario."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import hopyard
import pytest
from short import tshark
from test_docs import DOCS
from test_docs import blocks as blocks_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

#: The foreign agent, whose address is the care-of address, the home agent, and the host.
FOREIGN, HOME, HOST = "172.16.1.1", "172.16.0.1", "172.16.0.2"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """The scenario of the page on handoffs."""
    blocks = blocks_of(DOCS / "guide" / "handoffs.md")
    (text,) = [block.text for block in blocks if block.language == "toml"]
    file = tmp_path / "host.toml"
    file.write_text(text)
    return file


def fields_of(file: Path, which: str, *fields: str) -> list[tuple[str, ...]]:
    """These fields of the packets that a filter finds."""
    words = [word for field in fields for word in ("-e", field)]
    text = tshark(file, "-o", "ip.check_checksum:TRUE", "-Y", which, "-T", "fields", *words)
    # Newer versions print the words True and False for the flags 1 and 0.
    text = text.replace("True", "1").replace("False", "0")
    return [tuple(line.split("\t")) for line in text.splitlines()]


def captured(scenario: Path, **settings: Any) -> tuple[Path, dict[str, Any]]:
    """A capture of one run without malformed packets, and its only handoff."""
    file = scenario.with_name("out.pcapng")
    keys = {f"agents.mobile_ip.{key}": value for key, value in settings.items()}
    results = hopyard.run(scenario, runs=1, set=keys, capture=file)
    assert (
        fields_of(file, "_ws.malformed || _ws.expert.severity == error || ip.checksum.status == 0", "frame.number")
        == []
    )
    (handoff,) = results.handoffs.to_pylist()
    return file, handoff


def test_advertisements_requests_and_replies(scenario: Path) -> None:
    settings = {
        "move_detection": "prefix",
        "advertised_lifetime": 9,
        "registration_lifetime": 77,
        "longest_registration": 55,
        "simultaneous": True,
    }
    file, handoff = captured(scenario, **settings)
    words = ("seq", "r", "b", "h", "f", "life", "type", "length", "prefixlength", "coa")
    names = ["icmp.lifetime", "ip.len", *(f"icmp.mip.{word}" for word in words)]
    for node, address, flags, length, care_of in ((0, HOME, "0010", "6,1", ""), (1, FOREIGN, "0001", "10,1", FOREIGN)):
        radio = f'frame.interface_name == "node {node} radio" && ip.src == {address}'
        found = fields_of(file, f"icmp.type == 9 && {radio}", *names)
        assert len(found) == 12
        for sequence, (lifetime, size, number, *rest) in enumerate(found):
            assert (lifetime, number) == ("9", str(sequence))
            # The headers, the router with its preference, the extension, and that of the prefixes.
            assert int(size) == 20 + 8 + 8 + 8 + (4 if care_of else 0) + 3
            assert tuple(rest) == (*flags, "55", "16,19", length, "24", care_of)
    names = ["frame.time_epoch", "ip.len", "mip.type", "mip.flags", "mip.life", "mip.code", "mip.homeaddr"]
    names += ["mip.haaddr", "mip.coa", "mip.ext.type", "mip.ext.len", "udp.dstport"]
    radio = 'mip && frame.interface_name == "node 2 radio"'
    request, reply = (found for found in fields_of(file, radio, *names) if float(found[0]) > 1)
    # RFC 5944 §3.3 and §3.4: S is the first flag; a host asks for no more than is advertised.
    assert request[1:] == ("74", "1", "0x80", "55", "", HOST, HOME, FOREIGN, "32", "20", "434")
    assert reply[1:-1] == ("70", "3", "", "55", "0", HOST, HOME, "", "32", "20")
    for time, column in ((request[0], "requested_s"), (reply[0], "registered_s")):
        # A frame waits for the medium, and is captured when it begins.
        assert abs(float(time) - handoff[column]) < 5e-3, column
    # On each wire, the request goes to the home agent and the reply comes back: sent and received.
    for wire in ("node 1 wire to 4", "node 4 wire to 1", "node 4 wire to 0", "node 0 wire to 4"):
        found = fields_of(file, f'mip && frame.interface_name == "{wire}"', "ip.src", "ip.dst", "mip.type", "mip.ident")
        assert [each[:3] for each in found] == [(FOREIGN, HOME, "1"), (HOME, FOREIGN, "3")], wire
        assert found[0][3] == found[1][3], "the reply has the identification of its request"


def test_forged_requests_are_denied(scenario: Path) -> None:
    text = scenario.read_text().replace("home = 0\n", 'home = 0\nforged = [{ from = "5.5 s", to = "6.5 s" }]\n')
    scenario.write_text(text)
    file, _ = captured(scenario)
    replies = fields_of(file, 'mip.type == 3 && frame.interface_name == "node 2 radio"', "frame.time_epoch", "mip.code")
    # RFC 5944 §3.8.2: code 131, until the authenticator is right again.
    assert [code for _, code in replies] == ["131", "0"]
    requests = fields_of(file, 'mip.type == 1 && frame.interface_name == "node 2 radio"', "mip.ident", "mip.auth.auth")
    assert len(requests) == len(set(requests)) == 2


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("form", "protocol", "more"), [("ip_in_ip", 4, 20), ("minimal", 55, 12)])
def test_tunnels(scenario: Path, form: str, protocol: int, more: int, *, reverse: bool) -> None:
    file, _ = captured(scenario, tunnel=form, reverse_tunnel=reverse)
    # tshark has no name for what follows the header of minimal encapsulation.
    for wire, source, end, to_host in (
        ("node 0 wire to 4", HOME, FOREIGN, True),
        ("node 1 wire to 4", FOREIGN, HOME, False),
    ):
        which = f"ip.proto == {protocol} && ip.src == {source} && ip.dst == {end}"
        which += f' && frame.interface_name == "{wire}"'
        found = fields_of(file, which, "ip.len", "ip.ttl", "frame.protocols")
        if not to_host and not reverse:
            assert found == []
            continue
        assert len(found) > 100
        for sizes, lives, protocols in found:
            outer, *inner = [int(size) for size in sizes.split(",")]
            life = [int(life) for life in lives.split(",")]
            # An acknowledgement to the host, or a segment from it.
            assert outer in ((52 + more, 60 + more) if to_host else (1500 + more, 60 + more, 52 + more))
            # RFC 2003 §3.1: the entry of the tunnel lowers the inner TTL once, as any forwarder.
            # With minimal encapsulation, the only header that has a TTL keeps it (RFC 2004 §3).
            before = 64 - (2 if to_host else 1)
            if form == "ip_in_ip":
                assert (inner, life) == ([outer - more], [64, before])
                assert protocols.startswith("raw:ip:ip:tcp")
            else:
                assert (inner, life) == ([], [before])
