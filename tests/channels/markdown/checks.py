"""What must hold of the pieces in every channel."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

import regex

from channels.markdown.parse import parse
from channels.markdown.tree import texts

LIMITS = (40, 70, 160, 700)
"""Small limits, so that short examples are cut a lot."""


OWN = frozenset("•☐☑—…＞∗ˍ∼ˋ")
"""Characters that the renderers put in themselves."""


def ink(text: str) -> str:
    """Text without what can't be seen: white space, and characters that only format."""
    return "".join(c for c in text if not c.isspace() and unicodedata.category(c) not in ("Cf", "Cc"))


def visible(markdown: str) -> str:
    """What a reader should get to see of this Markdown."""
    return ink("".join(texts(parse(markdown))))


def assert_carries(markdown: str, pieces: Iterable[str], same: Callable[[str], str] = str) -> None:
    """The pieces hold every visible character of the Markdown, in order, whatever marks are between them.

    `same` undoes what a channel changes on purpose.
    """
    shown = iter(same(ink("".join(pieces))))
    for index, char in enumerate(wanted := same(visible(markdown))):
        assert char in shown, f"lost {wanted[index : index + 20]!r} of {markdown!r}"


def assert_whole_clusters(markdown: str, pieces: Iterable[str], most: int) -> None:
    """No grapheme cluster is cut between pieces, unless it is larger than a piece.

    A cut leaves a fragment as the last cluster of one piece and as the first of the next, and a fragment is no
    cluster of the source.
    """
    clusters = set(regex.findall(r"\X", "\n".join(texts(parse(markdown)))))
    clusters |= {cluster.strip() for cluster in clusters}  # a mark may stand on a space, where a cut may be
    giants = [cluster for cluster in clusters if len(cluster) > most // 4]
    for piece in pieces:
        found = regex.findall(r"\X", piece.strip())
        for edge in (found[0], found[-1]) if found else ():
            own = edge[0].isascii() or edge in OWN or edge[0].isspace()
            assert own or edge in clusters or any(edge in giant for giant in giants), f"{edge!r} is a fragment"
