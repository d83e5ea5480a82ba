"""Inline markup as pairs of marks around flat spans, properly nested, and only where a channel will read it so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal, TypeAlias

from channels.markdown.links import link_runs
from channels.markdown.tree import Span, Spans

Mark: TypeAlias = tuple[str, str]
"""What opens and what closes a style: `("<b>", "</b>")`."""

Style: TypeAlias = Literal["bold", "italic", "strike"]
STYLES: tuple[Style, ...] = ("bold", "italic", "strike")

Holds: TypeAlias = Callable[[Style, str, str, str, str], bool]
"""Whether a style's marks hold: given the character before, the first and last inside, and the one after.

Empty at the edge of a line.
"""

Ends: TypeAlias = Callable[[Span], tuple[str, str]]
"""The first and the last character of a span as it is written, its own link or code marks included."""


def nested(parts: Sequence[tuple[tuple[Mark, ...], str]]) -> str:
    """Text with its marks properly nested: what neighbours share stays open, and what lasts longest is outside."""
    out: list[str] = []
    stack: list[Mark] = []
    for index, (marks, text) in enumerate(parts):
        while any(mark not in marks for mark in stack):
            out.append(stack.pop()[1])
        missing = [mark for mark in marks if mark not in stack]
        if len(missing) > 1:
            missing.sort(key=lambda mark: _extent(parts, index, mark), reverse=True)
        out.extend(mark[0] for mark in missing)
        stack.extend(missing)
        out.append(text)
    out.extend(close for _, close in reversed(stack))
    return "".join(out)


def _extent(parts: Sequence[tuple[tuple[Mark, ...], str]], start: int, mark: Mark) -> int:
    end = start
    while end < len(parts) and mark in parts[end][0]:
        end += 1
    return end - start


def lines(spans: Spans) -> list[Spans]:
    """The spans cut at their newlines, so that no mark reaches over a line's end."""
    if not any("\n" in span.text for span in spans):
        return [spans]
    found: list[list[Span]] = [[]]
    for span in spans:
        for index, text in enumerate(span.text.split("\n")):
            if index:
                found.append([])
            if text:
                found[-1].append(replace(span, text=text))
    return [tuple(line) for line in found]


def sound(spans: Spans, holds: Holds, ends: Ends) -> Spans:
    """One line with every style dropped that the channel would not read as one: the words stay, the marks go.

    White space at the edges of a link or a style moves out of it, since no marker language lets marks touch it.
    """
    spans = tuple(span for url, run in link_runs(spans) for span in (_tight(run) if url else run))
    for style in STYLES:
        if any(getattr(span, style) for span in spans):
            spans = _sound(spans, style, holds, ends)
    return spans


def _sound(spans: Spans, style: Style, holds: Holds, ends: Ends) -> Spans:
    runs = [(on, tuple(run)) for on, run in groupby(spans, lambda span: bool(getattr(span, style)))]
    found: list[Span] = []
    for index, (on, run) in enumerate(runs):
        if not on:
            found.extend(run)
            continue
        before, core, after = _trimmed(run)
        found.extend(_without(span, style) for span in before)
        if core:
            follower = after or (runs[index + 1][1] if index + 1 < len(runs) else ())
            left, first = _meeting(found[-1] if found else None, core[0], ends)
            last, right = _meeting(core[-1], follower[0] if follower else None, ends)
            keep = holds(style, left, first, last, right)
            found.extend(core if keep else (_without(span, style) for span in core))
        found.extend(_without(span, style) for span in after)
    return tuple(found)


def _meeting(before: Span | None, after: Span | None, ends: Ends) -> tuple[str, str]:
    """The characters on both sides of where two spans meet; within one link its own marks are elsewhere."""
    if before and after and before.url == after.url:
        before, after = replace(before, url=""), replace(after, url="")
    return ends(before)[1] if before else "", ends(after)[0] if after else ""


def _without(span: Span, style: Style) -> Span:
    return replace(
        span,
        bold=span.bold and style != "bold",
        italic=span.italic and style != "italic",
        strike=span.strike and style != "strike",
    )


def _tight(link: Spans) -> Spans:
    before, core, after = _trimmed(link)
    return (*(replace(span, url="") for span in before), *core, *(replace(span, url="") for span in after))


def _trimmed(run: Spans) -> tuple[Spans, Spans, Spans]:
    """A run as (white space before, core, white space after); code is core, whatever it holds."""
    text = "".join("x" * len(span.text) if span.code else span.text for span in run)
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    if start >= end:
        return run, (), ()
    before, rest = cut(run, start)
    core, after = cut(rest, end - start)
    return before, core, after


def cut(spans: Spans, at: int) -> tuple[Spans, Spans]:
    """The spans before and after a position in their joined text."""
    for index, span in enumerate(spans):
        if at < len(span.text):
            if at == 0:
                return spans[:index], spans[index:]
            head, tail = replace(span, text=span.text[:at]), replace(span, text=span.text[at:])
            return (*spans[:index], head), (tail, *spans[index + 1 :])
        at -= len(span.text)
    return spans, ()
