"""Places in a text where it may be cut: between grapheme clusters, better after words, sentences and lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import regex  # type: ignore[import-untyped]  # its stubs are not among ours

CLUSTER = regex.compile(r"\X")
SPACES = frozenset(" \t\n\u2002\u2003\u2009\u200a\u3000")
"""White space that a line may be broken at; a no-break space is none."""

_SENTENCE_ENDS = frozenset(".!?…")
_WIDE_SENTENCE_ENDS = frozenset("。！？")
_CLOSERS = frozenset("\"')]}»”’")


class Search:
    """Finds the last of ascending ends that fits, starting where the last answer was: pieces of one reply are alike."""

    def __init__(self) -> None:
        self._usual: int | None = None

    def last(self, ends: Sequence[int], fits: Callable[[int], bool]) -> int:
        """The end, or 0 where none fits."""
        # Counted from 1, so that 0 is "none"; `low` fits and `high` doesn't, as far as is known.
        low, high = 0, len(ends) + 1
        at, step = min(max(self._usual or len(ends), 1), len(ends)), 1
        while low + 1 < high:
            if fits(ends[at - 1]):
                low = at
            else:
                high = at
            if high > len(ends):
                at, step = min(low + step, len(ends)), step * 2
            elif low == 0:
                at, step = max(high - step, 1), step * 2
            else:
                at = (low + high) // 2
        self._usual = low
        return ends[low - 1] if low else 0


def nicest(text: str, ends: list[int], *, prose: bool) -> int:
    """The last end after a line or sentence in the further half, else after a word, else the last one."""
    word = 0
    for at in reversed(ends):
        if prose and word and at < ends[-1] // 2:
            break
        if text[at - 1] == "\n" or (prose and _ends_sentence(text, at)):
            return at
        if not word and text[at - 1] in SPACES:
            word = at
    return word or ends[-1]


def _ends_sentence(text: str, at: int) -> bool:
    if text[at - 1] in _WIDE_SENTENCE_ENDS:
        return True
    if text[at - 1] not in SPACES:
        return False
    index = at - 2
    while index > 0 and text[index] in _CLOSERS:
        index -= 1
    return index >= 0 and text[index] in _SENTENCE_ENDS


def outside(ends: list[int], wholes: list[tuple[int, int]]) -> Iterator[int]:
    """The ends that lie in none of the stretches; both ascend."""
    stretches = iter(wholes)
    start, end = next(stretches, (0, 0))
    for at in ends:
        while end <= at and end:
            start, end = next(stretches, (0, 0))
        if not start < at < end:
            yield at


def cluster_prefix(text: str, fits: Callable[[str], bool]) -> str:
    """The longest start of a text that fits and ends between grapheme clusters."""
    return text[: Search().last([match.end() for match in CLUSTER.finditer(text)], lambda end: fits(text[:end]))]
