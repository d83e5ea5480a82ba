"""Noise in every form of the console, from somebody who may do everything: an answer, and never an error of ours."""

from __future__ import annotations

import random
import re

import aiohttp

from gateway.console.console import HERE
from tests.support.gateway import Home

NOISE = (
    *("", " ", "x", "front-desk", "../../etc/passwd", "a" * 300, "{", "[]", "null", '{"agentId": 5}', "-1", "1e400"),
    *(
        "\x00",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
        "<b>",
        "{{ 7 * 7 }}",
        "true",
        "deploy",
    ),
    *("[" * 2000, "--flag", "shop/c1", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "production", "%00", "\r\nX: y"),
)
ROUNDS = 6
"""Forms sent to each address."""

NAMES = re.compile(r"""name=["']([\w-]+)["']""")


async def test_no_form_makes_an_error_of_ours(home: Home) -> None:
    names = sorted(
        {n for page in (HERE / "templates").glob("*.html") for n in NAMES.findall(page.read_text())} - {"csrf"}
    )
    assert len(names) > 10
    chance = random.Random(63)  # noqa: S311 - the same noise each time
    gateway = await home.up()
    link = (await home.ok("console", "link", "--url", gateway.url)).strip()
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        assert (await session.post(link)).ok
        async with session.get(f"{gateway.url}/console/agents") as response:
            csrf = re.search(r'name="csrf" value="([^"]+)"', await response.text())
            assert csrf is not None
        paths = posted_to()
        assert len(paths) > 15
        for path in paths:
            for _ in range(ROUNDS):
                form = {name: chance.choice(NOISE) for name in chance.sample(names, len(names) // 2)}
                filled = re.sub(
                    r"\{\w+\}", lambda _: chance.choice(("front-desk", "telegram", "nobody", "%2e%2e")), path
                )
                async with session.post(
                    f"{gateway.url}{filled}", data={**form, "csrf": csrf[1]}, allow_redirects=False
                ) as response:
                    assert response.status < 500, (filled, form, await response.text())
    assert not [line for line in gateway.log if line.get("level") in ("error", "critical")]
    assert await gateway.stop() == 0


def posted_to() -> list[str]:
    """Every address of the console that takes a form; logging out would end the test."""
    source = (HERE / "console.py").read_text()
    begin = source.index("operations: dict[str, Handler]")
    return [f"/console{path}" for path in re.findall(r'^ {12}"(/[^"]+)":', source[begin:], re.MULTILINE)]
