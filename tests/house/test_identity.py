"""Tokens: what they are made of, where a mail shows them, and when they die."""

from pbem import identity
from pbem.identity import Claim

KEY = "00" * 32


def test_a_token_is_sixteen_characters_of_base32_of_match_seat_and_key() -> None:
    token = identity.token("hexem1", "Ann", KEY)
    assert len(token) == 16
    assert set(token) <= set("abcdefghijklmnopqrstuvwxyz234567")
    others = {
        identity.token("hexem2", "Ann", KEY),
        identity.token("hexem1", "Bob", KEY),
        identity.token("hexem1", "Ann", identity.new_key()),
        # The parts of what is hashed can't be moved against each other.
        identity.token("hexem1A", "nn", KEY),
    }
    assert token not in others
    assert len(others) == 4


def test_case_of_a_token_does_not_matter() -> None:
    token = identity.token("hexem1", "Ann", KEY)
    assert identity.is_token(token.upper(), token)
    assert not identity.is_token(token[:-1], token)
    assert not identity.is_token("é" * 16, token)


def test_tokens_are_found_in_recipients_then_references_then_a_password_line() -> None:
    token = identity.token("hexem1", "Ann", KEY)
    reply_to = identity.address("game@example.org", "hexem1", token, True)
    message_id = identity.message_id("hexem1", token, 17, "example.org")
    assert reply_to == f"game+hexem1.{token}@example.org"
    assert identity.claims([reply_to], [], "") == [Claim("hexem1", token)]
    assert identity.claims([], [message_id], "") == [Claim("hexem1", token)]
    assert identity.claims([], [], f"Hello\n  Password: {token.upper()}\n") == [Claim(None, token)]
    assert identity.claims(["game@example.org"], ["<a@b>"], "no password here") == []
    assert identity.letter_number(message_id) == 17
    assert identity.letter_number("<17@example.org>") is None


def test_without_plus_addressing_a_reply_goes_to_the_mailbox_itself() -> None:
    assert identity.address("game@example.org", "hexem1", "x" * 16, False) == "game@example.org"


def test_the_local_part_stays_within_64_bytes_for_the_longest_name() -> None:
    address = identity.address("game@example.org", "m" * 32, "x" * 16, True)
    assert len(address.partition("@")[0]) <= 64


def test_addresses_are_compared_without_case_or_what_cannot_be_seen() -> None:
    assert identity.folded("Ann@Example.ORG") == "ann@example.org"
    assert identity.folded("ann\u200b@example.org ") == "ann@example.org"


def test_74_gmail_s_dots_plus_parts_and_two_hosts_are_one_address() -> None:
    assert identity.folded("F.R.eya+games@GoogleMail.com") == "freya@gmail.com"
    assert identity.folded("f.reya+games@example.net") == "f.reya+games@example.net"


def test_a_host_in_any_script_is_compared_in_ascii() -> None:
    assert identity.folded("фрея@почта.example.net") == "фрея@xn--80a1acny.example.net"


def test_the_token_that_asks_a_new_address_is_good_for_that_address_only() -> None:
    made = identity.address_token("hexem1", "Ann", KEY, "ann@new.example.org")
    assert made == identity.address_token("hexem1", "Ann", KEY, "ANN@new.example.org")
    assert made != identity.address_token("hexem1", "Ann", KEY, "ann@other.example.org")
    assert made != identity.token("hexem1", "Ann", KEY)
