"""Words of a question and of a text, made comparable: folded, lightly stemmed, with a few general synonyms. English."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_STOP_WORDS = """
a about all also am an and any are aren as at be been being but by can cannot could couldn did didn do does
doesn doing don for from had hadn has hasn have haven he her here hers him his how i if in into is isn it its
just ll me mine my no nor not of off on one or our ours out own please re s shall she should shouldn so some
such t than that the their theirs them then there these they this those to too up us ve was wasn we were weren
what whats when where which while who whom whose why will with won would wouldn you your yours
"""
STOP = frozenset(_STOP_WORDS.split())
"""Words that say nothing about what a question is about."""

_VAGUE_WORDS = """
anyone anything bring come deal exist find free get give go happen hear hello help hey hi home house kind know
let like long look make many mean much need now offer ok okay place possible question really right say see
sell show somebody someone something sort take tell thing time today tomorrow tonight try use want way work
"""
VAGUE = frozenset(_VAGUE_WORDS.split())
"""Words that say little: a passage needs more than these to fit."""

QUESTIONS = frozenset({"where", "when"})
"""Stop words that mean something in a heading: "Where we are"."""

LONG = 5
"""Letters from which on a slip of the keyboard is looked through; shorter words are too much alike."""

_INTENTS: tuple[tuple[str, str], ...] = (
    (r"\bwhen\b|\bwhat time\b", "hour open time schedule date"),
    (r"\bwhere\b|\bfind (you|us)\b|\bget (to you|there|here)\b", "address location direction"),
    (r"\bhow much\b", "price cost fee"),
    (r"\bhow long\b", "time duration day week"),
)
"""What a question word asks for: patterns, and the words that a passage about it uses."""

_SHOWN: tuple[tuple[str, str], ...] = (
    ("email", r"[\w.+-]+@[\w-]+\.\w"),
    ("phone", r"(?<![\w.])\+?\(?\d(?:[ /()-]?\d){6,}(?![\w.])"),
    ("price", r"[€$£¥]\s?\d|\d\s?(?:[€$£¥]|(?:eur|usd|gbp|chf)\b)"),
)

_ALIKE: tuple[str, ...] = (
    "hour open opening close closed closing schedule timetable",
    "where address location situated directions",
    "price cost fee charge tariff rate",
    "refund return exchange",
    "delivery deliver shipping ship dispatch",
    "pay payment card cash invoice",
    "book booking reserve reservation appointment",
    "contact reach phone telephone call number email mail talk speak person human",
    "park parking",
    "cancel cancellation",
    "wifi wi-fi internet",
    "staff team people",
    "allergy allergen allergic",
    "vegetarian vegan",
    "child children kid kids",
    "wheelchair accessible accessibility",
    "guarantee warranty",
    "buy purchase order",
)
"""Groups of words that ask for the same thing. General on purpose: they choose a passage, they never change it."""


def words(text: str, keep: frozenset[str] = frozenset()) -> list[str]:
    """Every word of a text, stemmed, in order; stop words left out but for those to `keep`."""
    return [stem(word) for word in _split(text) if word in keep or word not in STOP]


def misspelt(word: str) -> frozenset[str]:
    """A long word and what it becomes when any one letter is left out: two words one slip apart have one in common."""
    if len(word) < LONG:
        return frozenset()
    return frozenset({word, *(word[:i] + word[i + 1 :] for i in range(len(word)))})


def vague(word: str) -> bool:
    """Whether a stemmed word says too little to decide on."""
    return word in _VAGUE_STEMS


def asked_for(question: str) -> frozenset[str]:
    """What the question words ask for, stemmed: `when` asks for hours and dates."""
    text = fold(question)
    return frozenset(stem(w) for pattern, found in _INTENTS if re.search(pattern, text) for w in found.split())


def question_words(question: str) -> frozenset[str]:
    """The question words themselves, stemmed: a heading may use them too ("Where we are")."""
    return frozenset(stem(word) for word in _split(question) if word in QUESTIONS)


def shown(text: str) -> list[str]:
    """What a text shows without saying the word, stemmed: an address of email, a telephone number, a price."""
    return [stem(word) for word, pattern in _SHOWN if re.search(pattern, text)]


def alike(word: str) -> frozenset[str]:
    """Other stemmed words that ask for the same thing."""
    return _ALIKE_STEMS.get(word, frozenset())


def fold(text: str) -> str:
    """Lower case, without accents."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in parts if not unicodedata.combining(c))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without its plural and its commonest endings: `hours` and `hour`, `opening` and `open`."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word.removesuffix("e") if len(word) > 4 else word


def _split(text: str) -> list[str]:
    return re.findall(
        r"[^\W_]+", re.sub(r"['’]s\b", "", fold(text)).replace("e-mail", "email").replace("wi-fi", "wifi")
    )


_VAGUE_STEMS = frozenset(stem(w) for w in VAGUE)
SYNONYMS = frozenset(stem(word) for group in _ALIKE for word in group.split())
_ALIKE_STEMS: dict[str, frozenset[str]] = {
    stem(word): frozenset(stem(w) for w in group.split()) - {stem(word)} for group in _ALIKE for word in group.split()
}
