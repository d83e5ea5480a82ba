"""The commands that look at a home while a gateway works on it."""

from __future__ import annotations

import json
import sqlite3

from tests.e2e.test_messages import echo, staged
from tests.support.gateway import Home


async def test_a_gateway_at_work_is_seen_by_top_doctor_audit_and_the_ledgers_check(home: Home) -> None:
    async with staged("telegram", home, echo) as stage, stage.up():
        client = stage.line.client
        await client.say("hello")
        assert await client.replies(wait=20)
        code, out, _ = await home.run("doctor", "--json")
        found = {finding["code"]: finding for finding in json.loads(out)}
        assert (found["gateway"]["ok"], found["gateway"]["fix"]) == (True, "")
        assert found["home"]["ok"] or code == 1
        top = await home.json("top")
        (line,) = top["connections"]
        assert (line["received"], line["answered"], line["sent"], line["failed"]) == (1, 1, 1, 0)
        assert (top["waiting_messages"], top["oldest_open"], len(top["run_seconds"])) == (0, None, 1)
        assert line["connection_id"] in await home.ok("top", "--once")
        assert await home.json("ledger", "check") == []
        code, out, _ = await home.run("audit", "--json")
        graded = json.loads(out)
        assert (code == 1) == (graded["grade"] in "DF")
        assert {"code", "weight", "message", "fix"} == graded["risks"][0].keys()


async def test_doctor_puts_a_fresh_home_right(home: Home) -> None:
    code, out, _ = await home.run("doctor")
    assert (code, "no home folder" in out, home.path.exists()) == (1, True, False)
    _, out, err = await home.run("doctor", "--fix")
    assert err.count("mended") == 3
    assert "no home folder" not in out
    code, out, _ = await home.run("doctor", "--json")
    wrong = [finding["code"] for finding in json.loads(out) if not finding["ok"]]
    assert wrong == ["connections", "routes"], "what only a person can do is left"


async def test_a_ledger_that_is_not_sound_or_not_ours_is_told(home: Home) -> None:
    await home.ok("init")
    await home.ok("ledger", "check")
    with sqlite3.connect(home.path / "ledger.db") as db:
        db.execute("INSERT INTO secrets VALUES ('gone', 'bot_token', x'00')")
    code, out, err = await home.run("ledger", "check")
    assert (code, "secret_of_nobody" in out, "restore" in err) == (1, True, True)
    with sqlite3.connect(home.path / "ledger.db") as db:
        db.execute("PRAGMA user_version = 999")
    code, out, _ = await home.run("doctor", "--json")
    (ledger,) = [finding for finding in json.loads(out) if finding["area"] == "ledger"]
    assert (code, ledger["code"], ledger["ok"]) == (1, "ledger_too_new", False)
