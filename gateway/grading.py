"""How safely a gateway is set up: what is risky in it, and a grade. Pure; `gateway.posture` gathers what comes in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from agents_runtime.manifest import StateScope
from agents_runtime.package import Source
from builder_skill.system_skill import AGENT_ID
from gateway.ports import in_the_clear, is_local
from gateway.settings import Settings
from routes.connection import Connection
from routes.route import Route

Weight = Literal["critical", "high", "medium", "low"]
Letter = Literal["A", "B", "C", "D", "F"]

LETTERS: Mapping[Weight, Letter] = {"critical": "F", "high": "D", "medium": "C", "low": "B"}
"""What the worst risk makes of the grade; without any it is an A."""


@dataclass(frozen=True, slots=True)
class Risk:
    """One thing that could be safer. critical: somebody else can act or read now; high: on the way there somebody can
    listen in; medium: a mistake or a talked-into model does more harm than need be; low: a second line is missing."""

    code: str
    weight: Weight
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Grade:
    """The letter, and its reasons, the worst first."""

    letter: Letter
    risks: tuple[Risk, ...]


@dataclass(frozen=True, slots=True)
class AgentPosture:
    """An agent as far as it matters here. `writes_files` is whether it has a tool that does."""

    id: str
    source: Source
    writes_files: bool
    state_scope: StateScope
    secret_in: str = ""


@dataclass(frozen=True, slots=True)
class Posture:
    """All that a grade is made of. `open_files` are private files that others can read, by name."""

    settings: Settings
    home_open: bool
    open_files: tuple[str, ...]
    is_root: bool
    dumps_core: bool
    key_from_env: bool
    older_keys: int
    model_urls: tuple[str, ...]
    agents: Mapping[str, AgentPosture]
    connections: Sequence[Connection]
    routes: Sequence[Route]


def grade(posture: Posture) -> Grade:
    """The grade of a posture."""
    weights: list[Weight] = [*LETTERS]
    risks = sorted(
        [*_files(posture), *_process(posture), *_wires(posture), *_hands(posture), *_reach(posture)],
        key=lambda risk: weights.index(risk.weight),
    )
    return Grade(LETTERS[risks[0].weight] if risks else "A", tuple(risks))


def _files(posture: Posture) -> Iterator[Risk]:
    for name in posture.open_files:
        weight: Weight = "critical" if name in ("key", "access-token") else "high"
        yield Risk("file_open", weight, f"Others on this machine can read {name}.", "postroom doctor --fix")
    if posture.home_open:
        yield Risk("home_open", "high", "Others on this machine can look into the home.", "postroom doctor --fix")
    if not posture.key_from_env:
        text = "The key lies beside what it seals: a copy of the home has both."
        fix = "Set POSTROOM_KEY from a secret store, and move the home's `key` away."
        yield Risk("key_beside_data", "low", text, fix)
    if posture.older_keys:
        text = f"{posture.older_keys} older key(s) still open secrets."
        yield Risk("older_keys", "low", text, "A day after rotating: postroom key retire")
    for agent in posture.agents.values():
        if agent.secret_in:
            text = f"Agent '{agent.id}' has what looks like a secret in {agent.secret_in}."
            yield Risk("secret_in_package", "critical", text, f"postroom agent validate {agent.id}")
    if not posture.settings.retention_days:
        text = "What people wrote is kept for good."
        yield Risk("kept_for_good", "low", text, "Set POSTROOM_RETENTION_DAYS.")


def _process(posture: Posture) -> Iterator[Risk]:
    if posture.is_root:
        text = "It runs as root: a hole in it is a hole in the machine."
        yield Risk("root", "medium", text, "Run it as a user of its own: see docs/deploying.md.")
    if posture.dumps_core:
        text = "A crash would write the process's memory, tokens included, to the disk."
        yield Risk("core_dumps", "low", text, "Start it with: ulimit -c 0")


def _wires(posture: Posture) -> Iterator[Risk]:
    settings = posture.settings
    if in_the_clear(settings.public_url):
        text = "Webhooks come in the clear: messages and secret paths can be read on the way."
        yield Risk("public_url_clear", "high", text, "Put TLS in front, and set POSTROOM_PUBLIC_URL to https://…")
    yield from _database(settings.database_url)
    for url in posture.model_urls:
        if in_the_clear(url):
            text = f"Prompts and the key go to the model at {urlsplit(url).hostname} in the clear."
            yield Risk("model_clear", "high", text, "Use an https address.")
    for connection in posture.connections:
        if in_the_clear(str(connection.settings.get("base_url", ""))):
            text = f"Connection '{connection.id}' sends its token in the clear."
            yield Risk("connection_clear", "high", text, "Use an https address as its base URL, or leave it out.")


def _database(url: str) -> Iterator[Risk]:
    if not url or is_local(urlsplit(url).hostname or "localhost"):
        return
    mode = parse_qs(urlsplit(url).query).get("sslmode", ["prefer"])[0]
    if mode in ("disable", "allow", "prefer"):
        text = "The database may be spoken to in the clear, password and messages alike."
        yield Risk("database_clear", "high", text, "Add ?sslmode=verify-full to POSTROOM_DATABASE_URL.")
    elif mode == "require":
        text = "The database's certificate isn't checked: another server could pose as it."
        yield Risk("database_unchecked", "low", text, "Use sslmode=verify-full, with sslrootcert where it is your own.")


def _hands(posture: Posture) -> Iterator[Risk]:
    """What a model that was talked into something could do without a person's yes."""
    approved = posture.settings.auto_approve
    builder = [r for r in posture.routes if r.enabled and r.agent_id == AGENT_ID and r.access.policy != "owner"]
    for route in builder:
        text = f"Route '{route.id}' lets others than the owner talk to the builder."
        yield Risk("builder_open", "critical", text, f"postroom route disable {route.id}")
    changing = sorted(approved - {"*"})
    if "*" in approved:
        text = "Every tool of the builder runs unasked: a model can put agents and routes live."
        yield Risk("unasked", "high", text, "Unset POSTROOM_AUTO_APPROVE, or name the few tools that may.")
    elif changing:
        text = f"{', '.join(changing)} run unasked."
        yield Risk("unasked", "medium", text, "Unset POSTROOM_AUTO_APPROVE, unless nobody else can reach the model.")


def _reach(posture: Posture) -> Iterator[Risk]:
    """Who can talk to which agent."""
    for route in posture.routes:
        agent = posture.agents.get(route.agent_id)
        if not route.enabled or agent is None:
            continue
        if agent.source in ("project", "project-local"):
            text = f"Route '{route.id}' leads to '{agent.id}', which comes from a project's folder."
            yield Risk("others_agent", "medium", text, "Read it, and import it: postroom agent import")
        if route.access.policy != "open":
            continue
        if agent.writes_files and agent.state_scope == "agent":
            text = f"Anybody on route '{route.id}' can change what '{agent.id}' remembers of everybody."
            yield Risk("shared_state_open", "medium", text, "Set its stateScope to conversation, or close the route.")
        if route.scope.kind != "dm" and not route.access.mention_required:
            text = f"On route '{route.id}' the bot answers everything said in a group, and anybody may start one."
            yield Risk("answers_all", "medium", text, "Require a mention, or name the chats.")
