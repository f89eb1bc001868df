"""Pages fetched from real servers in this process, healthy and hostile.

What tests may ask besides public addresses is the one server that they name; all else is refused
by the rule that users have.
"""

from __future__ import annotations

import gzip
import re
import socket
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sites import HTML, Site

from veridical.io.public_addresses import is_public
from veridical.io.public_pages import PageError, PublicPages

PAGE = b"<title>Ada</title><p>Ada was born in London."


@pytest.fixture
def serve() -> Iterator[Callable[..., Site]]:
    sites: list[Site] = []

    def start(pages: dict[str, Any], context: ssl.SSLContext | None = None) -> Site:
        sites.append(Site(pages, context))
        return sites[-1]

    yield start
    for site in sites:
        site.close()


class Names:
    """Looks names up by a table; ``asked`` are the names."""

    def __init__(self, **more: list[str]) -> None:
        self.table = {
            "pages.test": ["127.0.0.1"],
            **{k.replace("_", "."): v for k, v in more.items()},
        }
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host not in self.table:
            try:
                socket.inet_aton(host)
            except OSError:
                raise OSError("no such name") from None
            return [host]
        return self.table[host]


async def fetch(
    site: Site, url: str | None = None, names: Names | None = None, **settings: Any
) -> Any:
    pages = PublicPages(
        may_ask=lambda address, port: (
            (address, port) == ("127.0.0.1", site.port) or is_public(address, port)
        ),
        find=names or Names(),
        **settings,
    )
    try:
        return await pages.fetch(url or site.url())
    finally:
        await pages.close()


async def refused(site: Site, why: str, url: str | None = None, **settings: Any) -> None:
    with pytest.raises(PageError, match=why):
        await fetch(site, url, **settings)


async def test_a_page(serve: Callable[..., Site]) -> None:
    site = serve({"/a?b=c": (200, HTML, PAGE)})
    page = await fetch(site, site.url("/a?b=c#part"))
    assert page == (site.url("/a?b=c#part"), PAGE, True, "utf-8")
    ((path, headers),) = site.asked
    assert path == "/a?b=c"
    assert headers["host"] == f"pages.test:{site.port}"
    assert re.fullmatch(r"veridical/[\w.]+", headers["user-agent"])
    assert not {"cookie", "authorization", "referer", "proxy-authorization"} & set(headers)


async def test_nothing_of_the_environment_is_used(
    serve: Callable[..., Site], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    proxy = serve({})
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    (tmp_path / ".netrc").write_text("machine pages.test login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    site = serve({"/": (200, HTML, PAGE)})
    await fetch(site)
    assert proxy.asked == [] and "authorization" not in site.asked[0][1]


async def test_cookies_are_not_kept(serve: Callable[..., Site]) -> None:
    told = {"location": "/b", "set-cookie": "a=1; Path=/"}
    site = serve({"/": (302, told, b""), "/b": (200, HTML, PAGE)})
    await fetch(site)
    assert [path for path, _ in site.asked] == ["/", "/b"]
    assert all("cookie" not in headers for _, headers in site.asked)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://pages.test/a", "not an http"),
        ("file:///etc/passwd", "not an http"),
        ("gopher://pages.test/", "not an http"),
        ("javascript:alert(1)", "not an http"),
        ("//pages.test/a", "not an http"),
        ("", "not an http"),
        ("http://", "not an http"),
        ("http:///a", "not an http"),
        ("http://me:secret@pages.test/", "credentials"),
        ("http://pages.test:99999/", "not the address of a page"),
        ("http://8.8.8.8:0/", "not the address of a page"),
        ("http://[::1/", "not the address of a page"),
        ("http://a\x00b/", "not the address of a page"),
        ("http://" + "a" * 3000, "longer than"),
        ("http://localhost/", "not a public web address"),
        ("http://127.0.0.1/", "not a public web address"),
        ("http://127.0.0.1:22/", "not a public web address"),
        ("http://2130706433/", "not a public web address"),
        ("http://0x7f.1/", "not a public web address"),
        ("http://[::1]/", "not a public web address"),
        ("http://[::ffff:127.0.0.1]/", "not a public web address"),
        ("http://[fe80::1%25lo]/", "not a public web address|not found|no address"),
        ("http://169.254.169.254/latest/meta-data/", "not a public web address"),
        ("http://10.1.2.3/", "not a public web address"),
        ("http://8.8.8.8:6379/", "not a public web address"),
        ("https://no.such.name.invalid/", "is not found"),
    ],
)
async def test_what_is_never_asked(url: str, why: str) -> None:
    pages = PublicPages()  # as users have it
    try:
        with pytest.raises(PageError, match=why):
            await pages.fetch(url)
    finally:
        await pages.close()


async def test_a_name_that_also_has_a_private_address_is_refused(
    serve: Callable[..., Site],
) -> None:
    site = serve({"/": (200, HTML, PAGE)})
    names = Names(pages_test=["93.184.216.34", "10.0.0.1"])
    await refused(site, "not a public web address", names=names)
    await refused(site, "has no address", names=Names(pages_test=[]))
    assert site.asked == []


async def test_redirects_are_checked_anew(serve: Callable[..., Site]) -> None:
    inside = serve({"/secret": (200, HTML, b"secret")})
    addresses = [
        *(
            f"http://{host}:{inside.port}/secret"
            for host in ("127.0.0.1", "localhost", "inside.test")
        ),
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "//10.0.0.1/",
        "file:///etc/passwd",
        "http://me:secret@pages.test/",
    ]
    for status in (301, 302, 303, 307, 308):
        for address in addresses:
            site = serve({"/": (status, {"location": address}, b"")})
            names = Names(inside_test=["127.0.0.1"], localhost=["127.0.0.1"])
            await refused(
                site, "not a public web address|not found|not an http|credentials", names=names
            )
    assert inside.asked == []


async def test_a_name_is_looked_up_once_a_hop_and_its_checked_address_asked(
    serve: Callable[..., Site],
) -> None:
    """Whoever answers name queries cannot say one thing to the check and another to the call."""
    site = serve({"/": (302, {"location": "/b"}, b""), "/b": (200, HTML, PAGE)})
    names = Names()
    assert (await fetch(site, names=names)).body == PAGE
    assert names.asked == ["pages.test", "pages.test"]

    class Rebinding(Names):
        async def __call__(self, host: str, port: int) -> list[str]:
            await super().__call__(host, port)
            return ["127.0.0.1"] if len(self.asked) == 1 else ["10.0.0.1"]

    await refused(site, "not a public web address", names=Rebinding())


async def test_another_address_of_a_name_is_tried(serve: Callable[..., Site]) -> None:
    site = serve({"/": (200, HTML, PAGE)})
    with socket.socket() as closed:
        closed.bind(("127.0.0.2", 0))
    pages = PublicPages(
        may_ask=lambda address, port: address.startswith("127.0.0."),
        find=Names(pages_test=["127.0.0.2", "127.0.0.1"]),
    )
    assert (await pages.fetch(site.url())).body == PAGE
    await pages.close()


async def test_redirects_end(serve: Callable[..., Site]) -> None:
    site = serve({"/": (302, {"location": "/"}, b"")})
    await refused(site, "more than 5 redirects")
    assert len(site.asked) == 6
    await refused(serve({"/": (302, {}, b"")}), "HTTP 302")
    bad = {"location": "http://[::1/"}
    await refused(serve({"/": (302, bad, b"")}), "Invalid URL in location")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ((404, HTML, b"no"), "HTTP 404"),
        ((500, HTML, b"no"), "HTTP 500"),
        ((204, HTML, b""), "HTTP 204"),
        ((200, {"content-type": "application/pdf"}, b"x"), "application/pdf, not text"),
        ((200, {"content-type": "image/svg+xml"}, b"x"), "not text"),
        ((200, {}, b"x"), "no stated type"),
        ((200, {**HTML, "content-encoding": "br"}, b"x"), "content coding 'br'"),
        ((200, {**HTML, "content-encoding": "gzip, gzip"}, b"x"), "content coding"),
        ((200, {**HTML, "content-encoding": "gzip"}, b"x"), "not valid gzip"),
        ((200, {**HTML, "content-length": "999999999"}, b"x"), "longer than"),
        ((200, {**HTML, "content-length": "9"}, b"x"), "RemoteProtocolError"),
        ((200, {**HTML, "content-length": "x"}, b"x"), "RemoteProtocolError"),
    ],
)
async def test_what_is_not_read(serve: Callable[..., Site], told: Any, why: str) -> None:
    await refused(serve({"/": told}), why)


async def test_huge_bodies_and_bombs(serve: Callable[..., Site]) -> None:
    def endless(wfile: Any, gone: threading.Event) -> None:
        wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")
        while not gone.is_set():
            wfile.write(b"a" * 65536)

    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    assert len(bomb) < 1 << 20
    packed = (200, {**HTML, "content-encoding": "gzip"}, bomb)
    small = (200, {**HTML, "content-encoding": "gzip"}, gzip.compress(PAGE))
    site = serve({"/": endless, "/bomb": packed, "/small": small})
    await refused(site, "longer than 100,000 bytes", longest=100_000)
    began = time.monotonic()
    await refused(site, "longer than 4,194,304 bytes", site.url("/bomb"))
    assert time.monotonic() - began < 5
    assert (await fetch(site, site.url("/small"))).body == PAGE


async def test_slow_ones(serve: Callable[..., Site]) -> None:
    def drip(wfile: Any, gone: threading.Event) -> None:
        wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")
        while not gone.wait(0.05):
            wfile.write(b"a")

    def headers(wfile: Any, gone: threading.Event) -> None:
        wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not gone.wait(0.05):
            wfile.write(b"x: y\r\n")

    def silent(wfile: Any, gone: threading.Event) -> None:
        gone.wait(20)

    site = serve(
        {"/drip": drip, "/headers": headers, "/silent": silent, "/": (302, {"location": "/"}, b"")}
    )
    for path in ("/drip", "/headers", "/silent"):
        began = time.monotonic()
        await refused(site, r"no whole page within 0.5 s", site.url(path), seconds=0.5)
        assert time.monotonic() - began < 3


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server of that name, and of a client that trusts it."""
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", str(key), "-out", str(cert), "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName=DNS:{name}"),
        ],
        check=True,
        capture_output=True,
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=str(cert))


async def test_the_certificate_is_of_the_name_not_of_the_address(
    serve: Callable[..., Site], tmp_path: Path
) -> None:
    server, trusting = certificate(tmp_path, "pages.test")
    site = serve({"/": (200, HTML, PAGE)}, server)
    names = Names(other_test=["127.0.0.1"])
    assert (await fetch(site, verify=trusting)).body == PAGE
    await refused(site, "CERTIFICATE_VERIFY_FAILED|certificate verify failed")  # nobody trusts it
    pages = PublicPages(may_ask=lambda *_: True, find=names, verify=trusting)
    try:  # at the same address, after a good connection
        assert (await pages.fetch(site.url())).body == PAGE
        with pytest.raises(PageError, match=r"(?i)hostname mismatch"):
            await pages.fetch(site.url(host="other.test"))
    finally:
        await pages.close()
