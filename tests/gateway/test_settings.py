"""What the environment says."""

from __future__ import annotations

import pytest

from gateway.settings import SettingInvalid, Settings


def test_defaults_live_in_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = Settings.from_env({})
    assert settings.home == tmp_path / ".postroom"
    assert settings.agents_dir == tmp_path / ".postroom" / "agents"
    assert settings.models == ()


def test_models_are_a_comma_list_in_order():
    settings = Settings.from_env({"POSTROOM_MODEL": "anthropic:a, openai-chat:b ,extractive"})
    assert settings.models == ("anthropic:a", "openai-chat:b", "extractive")


def test_the_hook_url_stands_on_the_public_url_alone():
    settings = Settings.from_env({"POSTROOM_PUBLIC_URL": "https://bots.example.com/p/"})
    assert settings.hook_url("shop", "abc") == "https://bots.example.com/p/hooks/shop/abc"
    assert Settings.from_env({}).hook_url("shop", "abc") == ""


@pytest.mark.parametrize("url", ["bots.example.com", "ftp://x", "https://"])
def test_a_public_url_that_is_none_is_refused(url):
    with pytest.raises(SettingInvalid, match="https://"):
        Settings.from_env({"POSTROOM_PUBLIC_URL": url})


def test_a_database_this_version_does_not_speak_is_refused_rather_than_ignored():
    with pytest.raises(SettingInvalid, match="PostgreSQL") as refused:
        Settings.from_env({"POSTROOM_DATABASE_URL": "mysql://x:secret@y/z"})
    assert "secret" not in str(refused.value)
    assert Settings.from_env({"POSTROOM_DATABASE_URL": "postgresql://x/y"}).database_url == "postgresql://x/y"


def test_days_that_are_no_number_are_refused():
    assert Settings.from_env({"POSTROOM_RETENTION_DAYS": " 90 "}).retention_days == 90
    for wrong in ("-1", "3.5", "a month", "²"):
        with pytest.raises(SettingInvalid, match="RETENTION"):
            Settings.from_env({"POSTROOM_RETENTION_DAYS": wrong})
