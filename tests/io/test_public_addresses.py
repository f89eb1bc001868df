"""Which addresses are public: by IANA's registries of special-purpose addresses."""

from __future__ import annotations

import pytest

from veridical.io.public_addresses import is_public, resolve


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.0.3"),
        *("169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1"),
        *("192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1"),
        *("239.255.255.250", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1"),
        *("ff02::1", "2001:db8::1", "100::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"),
        *("::127.0.0.1", "::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
        *(
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:808:808::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        ),
        *("", "localhost", "127.1", "0x7f000001", "8.8.8.8 ", "8.8.8.8/32", "08.8.8.8"),
    ],
)
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111"),
        *("::ffff:8.8.8.8", "64:ff9b::808:808"),
    ],
)
def test_what_is(address: str) -> None:
    assert is_public(address)
    assert is_public(address, 80)
    for port in (0, 22, 25, 6379, 8080, 11211):
        assert not is_public(address, port)


@pytest.mark.parametrize(
    "host", ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "::1", "127.0.0.1"]
)
async def test_however_it_is_written_this_machine_is_found_and_refused(host: str) -> None:
    found = await resolve(host, 80)
    assert found and not any(map(is_public, found))
