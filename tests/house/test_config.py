"""The config file: what `pbem init` writes, and every way it can be wrong."""

import tomllib
from pathlib import Path

import pytest

from pbem import config
from pbem.config import ConfigFault


def _load(folder: Path, text: str) -> config.Config:
    (folder / "pbem.toml").write_text(text, "utf-8")
    return config.load(folder / "pbem.toml")


def test_init_writes_exactly_the_config_of_the_contract() -> None:
    assert tomllib.loads(config.TEXT) == {
        "database": "sqlite:///pbem.sqlite",
        "templates": "",
        "game_master": {"name": "Gia", "address": "gia@example.org"},
        "mail": {
            "address": "game@example.org",
            "plus_addressing": True,
            "authserv_id": "",
            "per_minute": 60,
            "size_limit": 10_000_000,
        },
        "source": [{"kind": "maildir", "path": "mail/in"}],
        "sender": {"kind": "maildir", "path": "mail/out"},
    }


def test_relative_paths_start_at_the_configs_folder(tmp_path: Path) -> None:
    found = _load(tmp_path, config.TEXT.replace('templates = ""', 'templates = "words"'))
    assert found.database_url == f"sqlite:///{tmp_path / 'pbem.sqlite'}"
    assert found.templates_folder == tmp_path / "words"
    elsewhere = _load(tmp_path, 'database = "postgresql+psycopg://gia@db.example.org/pbem"')
    assert elsewhere.database_url == "postgresql+psycopg://gia@db.example.org/pbem"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('databse = "x"', "unknown key databse; there are: database"),
        ('[mail]\nadress = "x"', "unknown key mail.adress; there are: address"),
        ("database = 3", "database = 3: a text in quotes is needed"),
        ("[mail]\nper_minute = true", "mail.per_minute = True: a whole number is needed"),
        ("[mail]\nsize_limit = 0", "mail.size_limit = 0: make it 1 or more"),
        ('[mail]\naddress = "game"', "mail.address = 'game': write it as name@host"),
        ('[game_master]\naddress = "a@b, c@d"', "game_master.address"),
        ("[source]\nkind = 1", "source = {'kind': 1}: a list of tables, written"),
        ("source = [3]", "source 1 is no table"),
        ("\ndatabase = = 3", "at line 2, column 12"),
    ],
)
def test_a_broken_line_is_named_with_place_and_remedy(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigFault) as fault:
        _load(tmp_path, text)
    assert message in str(fault.value)
    assert "pbem.toml" in str(fault.value)


def test_a_config_that_is_missing_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigFault, match="no such file; `pbem init` writes one"):
        config.load(tmp_path / "pbem.toml")
    (tmp_path / "pbem.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(ConfigFault, match="not UTF-8 at byte 5"):
        config.load(tmp_path / "pbem.toml")
    with pytest.raises(ConfigFault, match="directory"):
        config.load(tmp_path)
