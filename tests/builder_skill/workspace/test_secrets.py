"""What looks like a secret is found and never repeated; what only looks odd passes."""

from __future__ import annotations

import base64
import hashlib
import string
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder_skill.workspace import secrets
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
    JOIN(["AC", "fedcba9876543210" * 2]).replace("AC", "SK"),
    JOIN(["xoxe.xoxp", "-1-Mi0yLTEyMzQ1Njc4OTAx"]),
    JOIN(["https://hooks.slack.com/services/", "T0123ABCD/B0123ABCD/aB3dE6gH9jK2mN5pQ8sT1vW4"]),
    JOIN(["github_pat", "_11ABCDEFG0aB3dE6gH9jK2mN5pQ8"]),
    JOIN(["whsec", "_aB3dE6gH9jK2mN5pQ8sT1vW4yZ"]),
    "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    JOIN(["TWILIO_AUTH_TOKEN=", "9f8e7d6c5b4a3210" * 2]),
    JOIN(["aws_secret_access_key = wJalrXUtnFEMI/", "K7MDENG/bPxRfiCYzRhW9kQ2"]),
    JOIN(["Authorization: Bearer kJ8xQ2mZ", "7pLw4vTn9sRc1bYd"]),
    "Password: hunter2",
    "api key: 1234567890abcdef",
    "the signing key is q1w2e3r4t5y6",
    "密码：hunter2x9",
    "contraseña: verano2026",
    JOIN(["key=kJ8x", "Q2mZ", "7pLw", "4vTn", "9sRc", "1bYd", "6hGf", "3uEa."]),
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
    "password: required, and at least eight characters",
    "Password: optional",
    "https://user:password@host.example/",
    "token = os.environ['SHOP_TOKEN_2']; secret = settings.vault.secret2",
    "api_key: str = config.api_key_v2",
    "max_token: 4096, tokens: 2,000 and a tokenizer: cl100k_base",
    "Token: state/tokens2.json; secret: see skills/secrets-2/SKILL.md",
    "Expires with the token: 2026-12-01",
    "BetaCodeExecutionTool20250825ParamFactory",
    f"sha256-{base64.b64encode(hashlib.sha256(b'y').digest()).decode()}",
    f"ETag {base64.urlsafe_b64encode(hashlib.sha256(b'z').digest()).decode()}",
    "https://docs.example/d/1aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3lM6aB3dE/edit?usp=sharing",
    base64.b64encode(bytes(range(256))).decode(),
    "Пароль спросите у администратора. 合言葉は店長に聞いてください。",
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


def test_a_secret_in_a_name_is_found_too_and_never_repeated() -> None:
    with pytest.raises(SecretFound, match="a name in channelDefaults") as caught:
        refuse_secrets({"channelDefaults": {SECRETS[0]: {"inside": SECRETS[1]}}})
    assert SECRETS[0] not in str(caught.value)


def test_a_password_on_a_line_of_its_own_may_be_a_plain_word() -> None:
    for text in ("password: swordfish", '  "password": "correcthorse",', "- **Password**: 12345678"):
        assert [hit.line for hit in find_secrets(f"Log in.\n{text}\n")] == [2]


def test_most_of_what_is_random_is_found() -> None:
    letters = string.ascii_letters + string.digits
    digests = [hashlib.sha512(str(number).encode()).digest() for number in range(500)]
    drawn = ["".join(letters[byte % len(letters)] for byte in digest[:40]) for digest in digests]
    assert sum(bool(find_secrets(f"Use {each} here.")) for each in drawn) > 475


@given(st.text(alphabet=string.ascii_letters + string.digits, min_size=32, max_size=64))
def test_what_is_long_and_in_order_is_not(text: str) -> None:
    assert find_secrets("".join(sorted(text))) == []


def test_the_product_itself_holds_none() -> None:
    """A corpus: its documentation, the agents that ship with it, and rooms where a token has no business."""
    root = Path(secrets.__file__).parents[2]
    files = [*root.glob("docs/**/*.md")]
    files += [p for room in ("agents_runtime", "builder_skill", "routes") for p in (root / room).rglob("*.[mp][dy]")]
    assert len(files) > 100
    assert {f"{path}:{hit.line}" for path in files for hit in find_secrets(path.read_text())} == set()
