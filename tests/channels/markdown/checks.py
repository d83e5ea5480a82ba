"""What must hold of the pieces in every channel."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

import regex

from channels.markdown.parse import parse
from channels.markdown.tree import texts

LIMITS = (40, 70, 160, 700)
"""Small limits, so that short examples are cut a lot."""


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


def assert_whole_clusters(markdown: str, pieces: Sequence[str], most: int) -> None:
    """No grapheme cluster of the Markdown is cut between two pieces, unless it is larger than a piece."""
    source = "\n".join(texts(parse(markdown)))
    clusters = {match[0] for match in regex.finditer(r"\X", source) if 1 < len(match[0]) <= most // 4}
    joined = "\x00".join(pieces)
    for at in (match.start() for match in re.finditer("\x00", joined)):
        before, after = joined[max(0, at - 40) : at], joined[at + 1 : at + 41]
        for cluster in clusters:
            for cut in range(1, len(cluster)):
                if before.endswith(cluster[:cut]) and after.startswith(cluster[cut:]):
                    # The halves may stand there in their own right: then the source has them apart as well.
                    assert cluster[:cut] in regex.findall(r"\X", source), f"{cluster!r} was cut"
