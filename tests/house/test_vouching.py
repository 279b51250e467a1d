"""What vouches for a sender: our mail server's word (RFC 8601), a signature (RFC 6376)."""

import base64

import dkim  # type: ignore[import-untyped]
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from pbem import identity
from pbem.identity import Vouched

OURS = "mx.example.org"
PASS = f"{OURS}; dkim=pass header.d=example.org; spf=pass smtp.mailfrom=ann@example.org"


@pytest.mark.parametrize(
    ("fields", "passed", "faulty"),
    [
        ([PASS], True, False),
        ([f"{OURS} 1; dkim=pass header.i=@mail.example.org"], True, False),
        ([f"{OURS}; dmarc=pass header.from=example.org"], True, False),
        ([f"{OURS}; dkim=pass header.d=example.org; dmarc=fail header.from=x.org"], False, True),
        ([f"{OURS}; dkim=pass header.d=other.example; spf=fail smtp.mailfrom=x"], False, True),
        ([f"{OURS}; dkim=pass header.d=org"], False, True),
        ([f"{OURS}; dkim=temperror header.d=example.org"], False, False),
        ([f"{OURS}; spf=pass smtp.mailfrom=ann@example.org"], False, False),
        ([f"{OURS}; none"], False, False),
        ([f"{OURS}; dkim=fail (dkim=pass) header.d=example.org"], False, True),
        (["mx.other.example; dkim=pass header.d=example.org"], False, True),
        ([f"{OURS}; dkim=fail header.d=example.org", PASS], False, True),
        (["mx.other.example; dkim=fail", PASS], True, False),
        ([f"{OURS}; ===;;"], False, True),
        ([], False, False),
    ],
)
def test_66_to_68_our_server_s_topmost_word_counts_where_it_is_aligned(
    fields: list[str], passed: bool, faulty: bool
) -> None:
    found = identity.vouched(fields, "ann@example.org", OURS)
    assert (found.passed, bool(found.fault)) == (passed, faulty)


def test_67_without_a_server_of_ours_nobody_vouches() -> None:
    assert identity.vouched([PASS], "ann@example.org", "").passed is False
    assert identity.vouched([], "ann@example.org", "") == Vouched()


KEY = rsa.generate_private_key(public_exponent=65537, key_size=1024)
PRIVATE = KEY.private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.TraditionalOpenSSL,
    serialization.NoEncryption(),
)
PUBLIC = KEY.public_key().public_bytes(
    serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
)
MAIL = (
    b"From: Ann <ann@example.org>\r\nTo: game@example.org\r\nSubject: orders\r\n"
    b"Date: Tue, 01 Dec 2026 13:00:00 +0100\r\n\r\nBID x 2\r\n"
)


def record(name: bytes, timeout: int = 5) -> bytes:
    """What the DNS says of any key."""
    assert name.startswith(b"sel._domainkey.")
    return b"v=DKIM1; k=rsa; p=" + base64.b64encode(PUBLIC)


def sign(raw: bytes, domain: bytes = b"example.org", *, length: bool = False) -> bytes:
    """Sign a mail as a server of that domain does."""
    return bytes(dkim.sign(raw, b"sel", domain, PRIVATE, length=length)) + raw


def test_an_aligned_signature_that_holds_vouches() -> None:
    assert identity.signed(sign(MAIL), "ann@example.org", record)
    # A domain above or below is aligned too.
    assert identity.signed(sign(MAIL, b"mail.example.org"), "ann@example.org", record)


def test_a_changed_mail_a_foreign_domain_and_a_missing_signature_don_t() -> None:
    assert not identity.signed(sign(MAIL).replace(b"x 2", b"x 9"), "ann@example.org", record)
    assert not identity.signed(sign(MAIL, b"attacker.example"), "ann@example.org", record)
    assert not identity.signed(MAIL, "ann@example.org", record)


def test_a_signature_of_a_part_only_does_not_vouch_for_what_was_added() -> None:
    signed = sign(MAIL, length=True)
    assert not identity.signed(signed + b"BID x 9\r\n", "ann@example.org", record)
    assert not identity.signed(signed, "ann@example.org", record)


def test_a_field_in_the_body_is_no_signature() -> None:
    field = sign(MAIL)[: -len(MAIL)]
    assert not identity.signed(MAIL + field, "ann@example.org", record)


def test_a_signature_whose_key_can_t_be_had_does_not_vouch() -> None:
    def away(name: bytes, timeout: int = 5) -> bytes:
        raise OSError("no network")

    assert not identity.signed(sign(MAIL), "ann@example.org", away)
    assert not identity.signed(sign(MAIL), "ann@example.org", lambda *_, **__: None)


def test_one_good_signature_among_several_is_enough() -> None:
    twice = b"DKIM-Signature: v=1; d=example.org; b=nonsense\r\n" + sign(MAIL)
    assert identity.signed(twice, "ann@example.org", record)
