"""About how many tokens a text is, without asking anybody."""

from __future__ import annotations

import re

_WORDS = re.compile(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]|\s{2,}|\s(?=\d)")


def estimate_tokens(text: str) -> int:
    """An estimate: one token per six letters begun of a word, per three digits, per mark, per space before a digit.

    Every provider counts differently and none can be asked offline, so this errs on the high side. Measured against
    OpenAI's o200k vocabulary: English, German, French and Markdown 15 to 20 % too high, code and JSON schemas 30 to
    50 %, other scripts 20 to 200 %; a message of emoji comes out a third too low.
    """
    return sum(-(-len(piece) // 6) if piece[0].isalpha() else 1 for piece in _WORDS.findall(text))
