"""Where channels come from: ours by a line in the registry, anyone else's by an entry point."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from channels.adapter import HookRequest, OpenConnection
from channels.errors import PayloadError, VerificationError
from channels.registry import CHANNELS, ChannelBroken, UnknownChannel, load, load_rehearsal, names
from gateway.cli import connection
from tests.e2e.line import SENDING
from tests.support.installed import PIGEON, install


@pytest.fixture
def project(tmp_path):
    """Writes a project that registers one channel."""

    def write(name: str, value: str, code: str = ""):
        folder = tmp_path / "other"
        folder.mkdir()
        head = '[project]\nname = "other"\nversion = "2"\n[project.entry-points."postroom.channels"]\n'
        (folder / "pyproject.toml").write_text(f'{head}{name} = "{value}"\n')
        (folder / f"{value.partition(':')[0]}.py").write_text(code)
        return folder

    return write


@pytest.fixture
def site(tmp_path):
    return tmp_path / "site"


def test_the_end_to_end_proofs_know_how_every_channel_speaks():
    assert names() == list(CHANNELS)
    assert [*names(), "pigeon"] == list(SENDING)


@pytest.mark.parametrize("name", CHANNELS)
def test_a_channel_of_ours_is_named_as_it_is_registered_and_can_be_rehearsed(name):
    assert load(name).name == name
    assert callable(load_rehearsal(name))


def test_an_installed_channel_is_one_more_and_comes_with_its_rehearsal(site, monkeypatch):
    install(PIGEON, site, monkeypatch)
    assert names() == [*CHANNELS, "pigeon"]
    assert load("pigeon").label == "Carrier pigeon"
    assert load_rehearsal("pigeon").__module__ == "pigeon_channel.rehearsal"


def test_a_name_of_ours_stays_ours(project, site, monkeypatch):
    install(project("sms", "stolen:CHANNEL", "CHANNEL = None"), site, monkeypatch)
    assert names() == list(CHANNELS)
    assert load("sms").label == "SMS (Twilio)"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import no_such_library", "no_such_library"),
        ("", "CHANNEL"),
        ("CHANNEL = 'a channel'", "not a Channel named 'broken'"),
        ("from channels.sms.channel import CHANNEL", "not a Channel named 'broken'"),
    ],
)
def test_a_channel_that_cannot_be_loaded_says_whose_it_is_and_why(project, site, monkeypatch, code, why, request):
    module = f"broken_{request.node.callspec.id.encode().hex()[-8:]}"
    install(project("broken", f"{module}:CHANNEL", code), site, monkeypatch)
    with pytest.raises(ChannelBroken, match="'broken' of other") as error:
        load("broken")
    assert why in error.value.message
    assert "other" in error.value.fix


def test_a_broken_channel_leaves_the_others_to_be_added(project, site, monkeypatch, capsys):
    install(project("broken", "broken_for_cli:CHANNEL", "raise RuntimeError('not today')"), site, monkeypatch)
    monkeypatch.setattr(connection.add, "registered_commands", [])
    connection.register_channels()
    assert [command.name for command in connection.add.registered_commands] == list(CHANNELS)
    assert "not today" in capsys.readouterr().err


def test_an_unknown_channel_is_told_which_there_are(site, monkeypatch):
    install(PIGEON, site, monkeypatch)
    with pytest.raises(UnknownChannel, match="telegram, slack, whatsapp, sms, pigeon"):
        load("fax")


async def test_the_installed_channel_refuses_what_its_provider_did_not_sign_or_would_not_say(site, monkeypatch):
    install(PIGEON, site, monkeypatch)
    channel = load("pigeon")
    from pigeon_channel.adapter import sign

    opened = OpenConnection("loft", channel.settings(), {"loft_key": "key"}, "https://example.org/hooks/loft/x")
    async with channel.open(opened) as adapter:

        def request(body: bytes, signature: str) -> HookRequest:
            return HookRequest("POST", opened.hook_url, {"x-loft-signature": signature}, {}, body)

        with pytest.raises(VerificationError):
            adapter.verify(request(b"{}", "wrong"))
        with pytest.raises(PayloadError):
            adapter.verify(request(b"{", sign("key", b"{")))
        with pytest.raises(PayloadError):
            adapter.normalise(adapter.verify(request(b"{}", sign("key", b"{}"))).payload, datetime.now(UTC))
