"""What may be a link, which links mislead, and how an address is shown where a channel has no links."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from urllib.parse import unquote, urlsplit

from markdown_it.common.normalize_url import normalizeLink

from channels.markdown.tree import Span, Spans

URL_MAX = 2000
"""Bytes of an address that is still made a link; a longer one is shown as text, which can be split."""

_URL_IN_TEXT = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>\"']+", re.IGNORECASE)
_BARE_HOST = re.compile(r"(?:[^\s/@]+@)?(?:[\w-]+\.)+[^\W\d_]{2,24}\.?(?:[:/?#]\S*)?")
# Endings that are no top-level domain: `Node.js` and `plan.pdf` name no host. `good.com.html` still looks like one.
_FILE_NAME = re.compile(
    r"[\w-]+\.(?:cpp|css|csv|docx|exe|gif|go|html|ini|ipynb|jpe?g|js|json|log|pdf|php|png|pptx|rb|sql|svg|toml|tsx?"
    r"|txt|xlsx|xml|ya?ml)",
    re.IGNORECASE,
)


def link_runs(spans: Spans) -> Iterator[tuple[str, Spans]]:
    """The spans grouped by where they lead: (address or empty, spans)."""
    for url, run in groupby(spans, lambda span: span.url):
        yield url, tuple(run)


def settle_links(spans: Spans, schemes: frozenset[str]) -> Spans:
    """Keep as links only what the channel may link; show the others' addresses beside their text.

    A link whose text looks like another address is shown as that text followed by the real address as the link.
    """
    if not any(span.url for span in spans):
        return spans
    settled: list[Span] = []
    for url, run in link_runs(spans):
        text = "".join(span.text for span in run)
        if not url or (linkable(url, schemes) and not misleads(text, url)):
            settled.extend(run)
            continue
        settled.extend(replace(span, url="") for span in run)
        if linkable(url, schemes):
            settled.extend((Span(" ("), Span(url, url=url), Span(")")))
        elif not says(text, url):
            settled.append(Span(f" ({url})"))
    return tuple(settled)


def spell_links(spans: Spans) -> Spans:
    """The same text with each address written after its link, unless the text is the address already."""
    if not any(span.url for span in spans):
        return spans
    spelled: list[Span] = []
    for url, run in link_runs(spans):
        spelled.extend(run)
        if url and not says("".join(span.text for span in run), url):
            spelled.append(Span(f" ({url})", url=url))
    return tuple(spelled)


def linkable(url: str, schemes: frozenset[str]) -> bool:
    """Whether an address has one of the schemes, a host where it needs one, and a bearable length."""
    parts = _split(url)
    if parts is None or parts[0] not in schemes or len(url.encode()) > URL_MAX:
        return False
    return bool(parts[1]) or parts[0] not in ("http", "https")


def misleads(text: str, url: str) -> bool:
    """Whether a link's text names another host than the one it leads to."""
    # As browsers read an address: compatible letters and full stops are the plain ones, formatting is nothing.
    plain = unicodedata.normalize("NFKC", text).replace("。", ".").strip()
    plain = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    claims = _URL_IN_TEXT.findall(plain)
    if not claims and _BARE_HOST.fullmatch(plain) and not _FILE_NAME.fullmatch(plain):
        claims = [plain]
    if not claims:
        return False
    parts = _split(url)
    real = parts[1] if parts else ""
    return any(_host(claim) != real for claim in claims)


def says(text: str, url: str) -> bool:
    """Whether a link's text is its address, give or take the scheme, a final slash and percent-encoding."""
    return _bare(text) == _bare(url) or ("://" in text and _bare(normalizeLink(text)) == _bare(url))


def _bare(url: str) -> str:
    bare = unquote(url).strip()
    for scheme in ("https://", "http://", "mailto:"):
        bare = bare.removeprefix(scheme)
    return bare.rstrip("/")


def _host(claim: str) -> str:
    parts = _split(claim if "://" in claim else f"http://{claim}")
    return parts[1] if parts else ""


def _split(url: str) -> tuple[str, str] | None:
    """The scheme and the host of an address, both comparable, or None where it can't be read."""
    try:
        parts = urlsplit(url)
        host = parts.path.rpartition("@")[2] if parts.scheme == "mailto" else parts.hostname or ""
    except ValueError:
        return None
    host = host.casefold().rstrip(".").removeprefix("www.")
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            return parts.scheme, host
    return parts.scheme, host
