"""The facts of a made-up match, as the letters of it take them."""

from typing import Any

import pytest

from pbem.game import Event


@pytest.fixture
def facts() -> dict[str, Any]:
    """Return facts that every kind of letter can be written from; `fencing` is no real game."""
    return {
        "match": "fence1",
        "title": "Fencing",
        "game": "fencing",
        "seat": "Ann",
        "seats": ["Ann", "Bob"],
        "person": "Ann Archer",
        "deadline": {
            "day": "Sunday 6 December 2026",
            "time": "20:00",
            "offset": "UTC+01:00",
            "zone": "Europe/Berlin",
            "left": "5 days 3 hours",
            "when": "in 5 days 3 hours",
            "utc": "2026-12-06T19:00:00+00:00",
        },
        "turn": 3,
        "phase": "bout",
        "view": {"phase": "bout", "hits": {"Ann": 2, "Bob": 0}},
        "page": {},
        "events": [Event("hit", {"by": "Ann", "on": "Bob", "clean": True})],
        "options": {},
        "notes": ["Bob sent no orders."],
        "press": [{"by": "Bob", "to": "all", "text": "Well fought.\nAgain?"}],
        "token_line": "",
        "address": "game@example.org",
        "written": "2026-12-01T16:00:00+00:00",
        "players": [{"seat": "Ann", "person": "Ann Archer"}, {"seat": "Bob", "person": "Bob"}],
        "winners": ["Ann"],
        "seed": "a long secret",
        "seed_hash": "5eed" * 16,
        "orders_hash": "04de" * 16,
        "outcome": "accepted, with questions",
        "number": 17,
        "lines": [
            {"number": 1, "text": "THRUST low", "understood": "THRUST Low", "problem": None},
            {"number": 3, "text": "PARY", "understood": None, "problem": "did you mean PARRY?"},
        ],
        "sheet": ["THRUST Low"],
        "answers": {
            "subject": "Re: [fence1] Turn 3",
            "date": "Tue, 1 Dec 2026 17:01:00 +0100",
            "message_id": "<abc@mail.example.net>",
            "received": "1 December 2026, 17:02",
        },
        "forecast": [Event("hit", {"by": "Ann", "on": "Bob", "clean": False})],
        "sender": "ann@work.example.org",
        "about": "A turn of fence1 failed",
        "sentences": ["It failed three times, and the match is held."],
        "remedies": ["Look at it, then RELEASE the match."],
    }
