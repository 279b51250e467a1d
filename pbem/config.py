"""The config file `pbem.toml`: read, checked key by key, and written by `pbem init`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pbem import addresses
from pbem.faults import Wrong


class ConfigFault(Wrong):
    """A config that can't be used; its message names the fault, the place and the remedy."""


@dataclass(frozen=True, slots=True)
class GameMaster:
    """Who hosts the matches."""

    name: str = "Gia"
    address: str = "gia@example.org"


@dataclass(frozen=True, slots=True)
class Mail:
    """The address players write to, and the limits on what comes and goes."""

    address: str = "game@example.org"
    plus_addressing: bool = True
    authserv_id: str = ""
    per_minute: int = 60
    size_limit: int = 10_000_000

    @property
    def host(self) -> str:
        """The domain of the address."""
        return self.address.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Config:
    """All settings; `folder` is the config's own, where relative paths start.

    `sources` and `sender` are tables as they stand in the file: `pbem.post` reads them.
    """

    folder: Path
    database: str = "sqlite:///pbem.sqlite"
    templates: str = ""
    game_master: GameMaster = field(default_factory=GameMaster)
    mail: Mail = field(default_factory=Mail)
    sources: tuple[Mapping[str, Any], ...] = ()
    sender: Mapping[str, Any] = field(default_factory=dict)

    @property
    def database_url(self) -> str:
        """The database's URL, a relative SQLite path made absolute."""
        prefix = "sqlite:///"
        if self.database.startswith(prefix) and self.database != prefix + ":memory:":
            return prefix + str(self.folder / self.database.removeprefix(prefix))
        return self.database

    @property
    def templates_folder(self) -> Path | None:
        """The game master's own templates, or `None` where there are none."""
        return self.folder / self.templates if self.templates else None


TEXT = """\
# pbem: what the game master sets up once. Relative paths start at this file's folder.
# Check it with `pbem doctor`.

# SQLite, or PostgreSQL: postgresql+psycopg://user@host/name
database = "sqlite:///pbem.sqlite"
# A folder of your own templates, looked in before the packaged ones; "" for none.
templates = ""

[game_master]
name = "Gia"
address = "gia@example.org"

[mail]
# Where players write to, and what letters come from.
address = "game@example.org"
# Whether game+anything@host reaches the same mailbox; it lets a reply say which seat it is for.
plus_addressing = true
# The name your own mail server gives itself in Authentication-Results; "" trusts no such field.
authserv_id = ""
# Letters sent in a minute, at the most.
per_minute = 60
# Bytes; a larger mail is answered, not read.
size_limit = 10_000_000

# Where mail comes from; none, one or more of these.
# imap: host, port, tls, user, password | password_env | password_file | password_command
#       | token_command, folder, processed
[[source]]
kind = "maildir"
path = "mail/in"

# How letters leave.
# smtp: host, port, tls = "starttls|tls|none", user, password | password_env | …
# sendmail: command
[sender]
kind = "maildir"
path = "mail/out"
"""


def load(path: Path) -> Config:
    """Read a config file; raise `ConfigFault` where it is missing, broken or has unknown keys."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigFault(f"{path}: no such file; `pbem init` writes one") from None
    except OSError as error:
        raise ConfigFault(f"{path}: {error.strerror}; make it readable") from None
    except UnicodeDecodeError as error:
        raise ConfigFault(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigFault(f"{path}: {error}; mend that line") from None
    return _read(path, data)


def _read(path: Path, data: Mapping[str, Any]) -> Config:
    known: dict[str, type] = {
        "database": str,
        "templates": str,
        "game_master": dict,
        "mail": dict,
        "source": list,
        "sender": dict,
    }
    table = _checked(path, "", data, known)
    master = _checked(
        path, "game_master", table.get("game_master", {}), {"name": str, "address": str}
    )
    mail_types: dict[str, type] = {
        "address": str,
        "plus_addressing": bool,
        "authserv_id": str,
        "per_minute": int,
        "size_limit": int,
    }
    mail = _checked(path, "mail", table.get("mail", {}), mail_types)
    for where, found in (("game_master", master), ("mail", mail)):
        if "address" in found:
            found["address"] = _address(path, where, found["address"])
    for key in ("per_minute", "size_limit"):
        if mail.get(key, 1) < 1:
            raise ConfigFault(f"{path}: mail.{key} = {mail[key]}: make it 1 or more")
    for number, source in enumerate(table.get("source", []), 1):
        if not isinstance(source, dict):
            raise ConfigFault(f"{path}: source {number} is no table; write it as [[source]]")
    texts = {key: table[key] for key in ("database", "templates") if key in table}
    return Config(
        folder=path.parent,
        game_master=GameMaster(**master),
        mail=Mail(**mail),
        sources=tuple(table.get("source", ())),
        sender=table.get("sender", {}),
        **texts,
    )


def _checked(
    path: Path, where: str, table: Mapping[str, Any], known: Mapping[str, type]
) -> dict[str, Any]:
    words: dict[type, str] = {
        str: "a text in quotes",
        bool: "true or false",
        int: "a whole number",
        dict: "a table",
        list: "a list of tables, written [[…]]",
    }
    for key, value in table.items():
        place = f"{where}.{key}" if where else key
        if key not in known:
            there_are = ", ".join(known)
            raise ConfigFault(f"{path}: unknown key {place}; there are: {there_are}")
        wanted = known[key]
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise ConfigFault(f"{path}: {place} = {value!r}: {words[wanted]} is needed")
    return dict(table)


def _address(path: Path, where: str, address: str) -> str:
    """Return an address, its host in ASCII: it comes to stand in headers that know no other."""
    if fault := addresses.fault_of(address):
        raise ConfigFault(f"{path}: {where}.address = {address!r}: {fault}")
    local, _, host = address.rpartition("@")
    return f"{local}@{addresses.in_ascii(host)}"
