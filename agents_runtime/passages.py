"""The passages of an agent's skills, and the one that fits a question best. Pure; under a millisecond a question.

A passage is a paragraph, a list, a table or a quotation under its heading, word for word. What instructs the model is
no passage: a section headed Rules, Instructions, Guidelines, Tone, Style, Steps, Workflow or Tools, or How to answer
(reply, write, …) or When to use (ask, call, …); a section with the comment `<!-- instructions -->` in it; and a
paragraph that speaks to the model ("You are …", "If the user …").
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt

from agents_runtime.words import (
    QUESTIONS,
    SYNONYMS,
    alike,
    asked_for,
    misspelt,
    question_words,
    shown,
    vague,
    words,
)

LONGEST_SECTION = 700
"""Characters up to which a section is given whole: what stands together is meant together."""

HEADING_WEIGHT = 3
"""A word of the heading counts as so many of the text."""

ENOUGH = 0.4
"""The share of a question that a passage has to cover."""

VAGUE_WEIGHT, INTENT_WEIGHT, ALIKE_SHARE = 0.3, 0.5, 0.7
K1, B = 1.2, 0.5
"""BM25's saturation and length parameters."""

_INSTRUCTIONS = re.compile(
    r"(the |your |general )?(rules|instructions|guidelines|tone|style|voice|manner|steps|workflow|procedure|tools|"
    r"behaviou?r|job|task|role|sub-?skills)( (for|of|to) .*)?|"
    r"how (to|you) (answer|reply|respond|write|speak|talk|behave|handle|help|act|work|use (this|the|your))\b.*|"
    r"when to (answer|reply|use|call|ask|run|escalate|hand|stop|say)\b.*|"
    r"what (not )?to (do|say)|(do not|don['’]t|never)\b.*",
    re.IGNORECASE,
)
_MARK = re.compile(r"<!--\s*instructions\s*-->", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_PERSON = r"(the|a|an|some|any)\s?(user|customer|person|guest|one|body|visitor|sender|question)\b"
_TO_THE_MODEL = re.compile(
    r"\s*(you are |you're |you answer|you help|your (job|task|role)|act as |answer |reply |respond |"
    rf"never (invent|guess|say|make|promise)|do not |don['’]t |if {_PERSON}|when {_PERSON})|"
    r".*\b(the user|execute_skill|write_file|edit_file|list_files|send_message|notify_owner)\b|.*\{\{",
    re.IGNORECASE | re.DOTALL,
)
_GREETING = re.compile(r"\b(greetings?|welcome|hello)\b", re.IGNORECASE)
_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_BLOCKS = _LISTS | {"paragraph_open", "table_open", "blockquote_open", "fence", "code_block"}


@dataclass(frozen=True, slots=True)
class Passage:
    """One block, word for word, under the headings above it. `section` is the number of the section it stands in."""

    text: str
    headings: tuple[str, ...]
    section: int


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing a question asks for: the words that mean it, each with how well, and how much it weighs."""

    weight: float
    words: dict[str, float]


class Passages:
    """The passages of some Markdown texts, searchable. `greeting` is the first section headed so, or empty."""

    def __init__(self, texts: Iterable[str]) -> None:
        read = list(_read(texts))
        greetings = [p for p in read if p.headings and _GREETING.search(p.headings[-1])]
        self._passages = [p for p in read if p not in greetings]
        self.greeting = "\n\n".join(p.text for p in greetings if p.section == greetings[0].section)
        counts = [_count(p) for p in self._passages]
        mean = sum(c.total() for c in counts) / (len(counts) or 1)
        self._postings: dict[str, dict[int, float]] = {}
        for position, count in enumerate(counts):
            room = K1 * (1 - B + B * count.total() / (mean or 1))
            for word, times in count.items():
                self._postings.setdefault(word, {})[position] = times * (K1 + 1) / (times + room)
        self._slips: dict[str, str] = {}
        for word in (*sorted(SYNONYMS), *sorted(self._postings)):
            self._slips |= dict.fromkeys(misspelt(word), word)

    def best(self, question: str) -> str:
        """The passage that fits best, word for word, or an empty string where none covers enough of the question."""
        concepts = self._concepts(question)
        scores: dict[int, float] = defaultdict(float)
        covered: dict[int, float] = defaultdict(float)
        solid: set[int] = set()
        for concept in concepts:
            for position, (score, share) in self._matches(concept).items():
                scores[position] += concept.weight * score
                covered[position] += concept.weight * share
                if concept.weight > VAGUE_WEIGHT:
                    solid.add(position)
        if not solid:
            return ""
        best = max(solid, key=lambda p: (scores[p], -p))
        enough = ENOUGH * sum(c.weight for c in concepts)
        return self._whole(self._passages[best]) if covered[best] >= enough else ""

    def _matches(self, concept: Concept) -> dict[int, tuple[float, float]]:
        """Position → the best score and share of the concept's words in each passage that has one."""
        matches: dict[int, tuple[float, float]] = {}
        for word, share in concept.words.items():
            places = self._postings.get(word, {})
            rarity = math.log(1 + (len(self._passages) - len(places) + 0.5) / (len(places) + 0.5))
            for position, weight in places.items():
                score, best = matches.get(position, (0.0, 0.0))
                matches[position] = (max(score, share * rarity * weight), max(best, share))
        return matches

    def _whole(self, passage: Passage) -> str:
        section = "\n\n".join(p.text for p in self._passages if p.section == passage.section)
        return section if len(section) <= LONGEST_SECTION else passage.text

    def _concepts(self, question: str) -> list[Concept]:
        concepts = [
            Concept(VAGUE_WEIGHT if vague(word) else 1.0, {word: 1.0} | dict.fromkeys(alike(word), ALIKE_SHARE))
            for word in dict.fromkeys(self._spelt(word) for word in words(question))
        ]
        intents = dict.fromkeys(asked_for(question), 1.0) | dict.fromkeys(question_words(question), ALIKE_SHARE)
        if intents:
            concepts.append(Concept(INTENT_WEIGHT, intents))
        return concepts

    def _spelt(self, word: str) -> str:
        """The word, or the one known here that it is one slip away from."""
        if word in self._postings or vague(word) or alike(word):
            return word
        return next((self._slips[slip] for slip in sorted(misspelt(word)) if slip in self._slips), word)


def _count(passage: Passage) -> Counter[str]:
    count = Counter([*words(passage.text), *shown(passage.text)])
    for heading in passage.headings:
        for word in words(heading, keep=QUESTIONS):
            count[word] += HEADING_WEIGHT
    return count


@dataclass(slots=True)
class _Section:
    headings: dict[int, str]
    blocks: list[str]
    private: bool = False


def _read(texts: Iterable[str]) -> Iterator[Passage]:
    for number, section in enumerate(section for text in texts for section in _sections(text)):
        if not section.private:
            headings = tuple(section.headings[level] for level in sorted(section.headings))
            for block in _joined(section.blocks):
                yield Passage(block, headings, number)


def _sections(text: str) -> Iterator[_Section]:
    lines = text.splitlines()
    tokens = _MARKDOWN.parse(text)
    section = _Section({}, [])
    private_level = 0
    for position, token in enumerate(tokens):
        if token.level or not token.map:
            continue
        source = "\n".join(lines[token.map[0] : token.map[1]]).strip()
        if token.type == "heading_open":
            yield section
            level, title = int(token.tag[1]), tokens[position + 1].content
            above = {depth: heading for depth, heading in section.headings.items() if depth < level}
            if private_level and level <= private_level:
                private_level = 0
            # The first title names the skill, whatever words it uses.
            if not private_level and section.headings and _INSTRUCTIONS.fullmatch(title.strip().rstrip(":")):
                private_level = level
            section = _Section({**above, level: title}, [], private=private_level > 0)
        elif _MARK.search(source):
            section.private = True
        elif token.type in _BLOCKS:
            block = _COMMENT.sub("", source).strip()
            if block and not _TO_THE_MODEL.match(block):
                section.blocks += _parts(block, token.type)
    yield section


def _parts(block: str, kind: str) -> list[str]:
    """A block, or its items or rows where it is too long to be an answer."""
    if len(block) <= LONGEST_SECTION:
        return [block]
    if kind in _LISTS:
        return [item.strip() for item in re.split(r"\n(?=(?:[-*+]|\d+[.)])\s)", block)]
    if kind == "table_open":
        head, rule, *rows = block.splitlines()
        return [f"{head}\n{rule}\n{row}" for row in rows]
    return [block]


def _joined(blocks: list[str]) -> Iterator[str]:
    """The blocks, each that ends in a colon together with the one it announces."""
    announcing = ""
    for block in blocks:
        whole = f"{announcing}\n\n{block}" if announcing else block
        if block.endswith(":"):
            announcing = whole
        else:
            yield whole
            announcing = ""
    if announcing:
        yield announcing


_MARKDOWN = MarkdownIt("commonmark").enable("table")
