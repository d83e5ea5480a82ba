"""What looks like a secret is found and never repeated; what only looks odd passes."""

from __future__ import annotations

import base64
import hashlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder_skill.workspace.secrets import SecretFound, find_secrets, refuse_secrets

JOIN = "".join
"""Tokens are put together here, so that no scanner takes this file for a leak."""

SECRETS = [
    JOIN(["123456789", ":AAE", "hBOweik6ad9r_QXMENQjcrGbqCr4K-bc"]),
    JOIN(["xoxb", "-123456789012-1234567890123-AbCdEfGhIjKl"]),
    JOIN(["xapp", "-1-A01BCDEF-123456-abcdef0123456789"]),
    JOIN(["AC", "0123456789abcdef" * 2]),
    JOIN(["sk", "-ant-api03-", "aB3dE6gH9jK2mN5pQ8sT"]),
    JOIN(["sk", "-proj-", "aB3dE6gH9jK2mN5pQ8sT1"]),
    JOIN(["ghp", "_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3lM6"]),
    JOIN(["AKIA", "IOSFODNN7TESTING"]),
    JOIN(["AIza", "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"]),
    JOIN(["sk_live", "_", "4eC39HqLyjWDarjtT1zdp7dc"]),
    JOIN(["eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0NTY3ODkwIn0.", "dozjgNryP4J3jVmNHl0w5N"]),
    "-----BEGIN RSA PRIVATE KEY-----",
    "postgres://shop:hunter22@db.internal/shop",
    "password: hunter2-Winter",
    "The API_KEY=9f8e7d6c5b4a3210",
    'client_secret: "q1w2e3r4t5y6"',
    JOIN(["kJ8x", "Q2mZ", "7pLw", "4vTn", "9sRc", "1bYd", "6hGf", "3uEa"]),
]

FINE = [
    "Turns messy meeting notes into briefs, with decisions, actions and open questions for everyone involved.",
    "Ask for the password before you reset it; never tell a token to anyone.",
    "The secret: patience.",
    "Passwort: siehe Aushang",
    "Set api_key: ${SHOP_API_KEY} or <your-api-key>",
    "token: $TOKEN, password: ******** and key = YOUR_KEY_HERE_123",
    f"Revision {hashlib.sha256(b'x').hexdigest()}",
    f"Order {uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)}",
    "See skills/meeting-miner-action-tracker/SKILL.md and state/2026-12-01/meeting-log.json",
    "https://example.com/a/very/long/path/that/goes/on/and/on/Index2026.html?q=1",
    "ThisIsAVeryLongCamelCaseIdentifierThatSomebodyWrote",
    f"![x](data:image/png;base64,{base64.b64encode(bytes(range(48))).decode()})",
    "会议记录整理成简短的摘要并跟踪未完成的行动项目请保持简洁明了不要猜测任何事情谢谢大家的合作与支持",
    "def make_connection(channel: Channel, connection_id: str) -> Connection:",
    "+1 (555) 014-2000, opening 9:00–18:00, price 45.00",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_found_on_its_line_and_never_repeated(secret: str) -> None:
    (hit,) = find_secrets(f"Hello.\nUse {secret} for it.\n")
    assert hit.line == 2
    with pytest.raises(SecretFound) as caught:
        refuse_secrets({"description": "fine", "subSkills": [{"id": "a", "description": secret}]})
    assert "subSkills.0.description" in str(caught.value)
    assert secret not in str(caught.value)
    assert caught.value.fix


@pytest.mark.parametrize("text", FINE)
def test_what_is_no_secret_passes(text: str) -> None:
    assert find_secrets(text) == []


@given(st.text(alphabet=st.characters(categories=["L", "P", "Zs"]), max_size=300))
def test_prose_in_any_script_passes(text: str) -> None:
    assert [hit for hit in find_secrets(text) if hit.kind == "a key"] == []


WORDS = "the quick brown fox jumps over Lazy Dogs in 2026 and 42 more"


@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=60))
def test_words_and_numbers_pass(words: list[str]) -> None:
    assert find_secrets(" ".join(words)) == find_secrets("-".join(words)) == []


def test_a_secret_in_a_name_is_found_too() -> None:
    with pytest.raises(SecretFound, match="a name in channelDefaults"):
        refuse_secrets({"channelDefaults": {SECRETS[0]: 1}})
