"""A letter as read from raw mail: whose, to whom, which words, and what kind of mail it is."""

import hashlib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from pbem.message import fields, html, kind, parts, phrases, quotes
from pbem.message.fields import Fields
from pbem.message.kind import Bounce, Kind

SIZE_LIMIT = 10_000_000

_TAG = re.compile(r"(?:^|(?<=[\s\]]))\[([A-Za-z0-9][A-Za-z0-9-]{0,31})\]")
_MATCH = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_ENVELOPE = ("delivered-to", "x-original-to", "envelope-to", "x-envelope-to")
_SAME = ("from", "to", "cc", "subject", "date", "message-id", "content-type", "in-reply-to")
# No mail program makes as many: who sends such a mail is not answered.
_MOST_MULTIPARTS = 500


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail as read. Texts are decoded, free of control characters, with `\n` as line end.

    `sender` is the address in From, `""` unless there is exactly one; `senders` are all. `to`
    begins with the recipient of the envelope. `references` are the ids in In-Reply-To, then those
    in References. `tag` is the match it names, `tags` all that it is addressed to. `text` is the
    writer's own words, `quoted` what was cut. `auto_reply` tells whether an automatic answer may
    be sent, as far as its form says. `results` are the Authentication-Results fields, topmost
    first. `digest` is the SHA-256 of what it says, the same for two copies that came by
    different ways.
    """

    sender: str
    senders: tuple[str, ...]
    name: str
    to: tuple[str, ...]
    message_id: str
    references: tuple[str, ...]
    subject: str
    tag: str | None
    tags: tuple[str, ...]
    date: str | None
    text: str
    quoted: str
    kind: Kind
    why: str
    auto_reply: bool
    bounced: Bounce | None
    results: tuple[str, ...]
    digest: str


def read(
    raw: bytes,
    recipient: str = "",
    own: Collection[str] = (),
    size_limit: int = SIZE_LIMIT,
    takes: Callable[[str], bool] = bool,
) -> Letter:
    """Read a raw mail; `recipient` is the envelope's, `own` our addresses (`*` for any part).

    Never raises, whatever the bytes: beyond a limit the letter has kind `refused` and says why.
    `takes` tells whether a text holds what is looked for: while it says no, the plain text gives
    way to the HTML, to a text file, to the subject.
    """
    if len(raw) > size_limit:
        letter = _read(raw[: parts.MOST_HEADER], recipient, own, None)
        digest = hashlib.sha256(raw).hexdigest()
        why = f"it has {len(raw)} bytes, more than {size_limit}"
        return replace(letter, kind="refused", why=why, digest=digest)
    try:
        return _read(raw, recipient, own, takes)
    except parts.TooMuch as reason:
        letter = _read(raw[: parts.MOST_HEADER], recipient, own, None)
        digest = hashlib.sha256(raw).hexdigest()
        answered = letter.auto_reply and raw.count(b"multipart/") <= _MOST_MULTIPARTS
        why = str(reason)
        return replace(
            letter, kind="refused", why=why, auto_reply=answered, bounced=None, digest=digest
        )


def _read(
    raw: bytes, recipient: str, own: Collection[str], takes: Callable[[str], bool] | None
) -> Letter:
    tree = parts.tree(raw) if takes else parts.headed(raw)
    head = tree.fields
    charset = _charset(tree)
    people = _addresses(head, "from", charset)
    senders = tuple(dict.fromkeys(address for _, address in people))
    sender = senders[0] if len(senders) == 1 else ""
    delivered = (recipient, *(a for name in _ENVELOPE for _, a in _addresses(head, name, charset)))
    to = (*delivered, *(a for name in ("to", "cc") for _, a in _addresses(head, name, charset)))
    subject = fields.text(head["subject"][0], charset) if "subject" in head else ""
    tag, tags = _tags(delivered, to, subject, own)
    token = next((_plus(ours) for ours in _ours(to, own) if _is_returned(ours)), "")
    verdict = kind.judge(tree, raw, sender, token, subject, own)
    text = quoted = ""
    why = verdict.why
    if takes and verdict.kind in ("mail", "list", "bulk"):
        text, quoted = _words(tree, subject, takes)
        sealed = "it is encrypted" if text.startswith("-----BEGIN PGP MESSAGE-----") else ""
        why = tree.sealed or sealed or why
    return Letter(
        sender=sender,
        senders=tuple(filter(None, senders)),
        name=people[0][0] if people else "",
        to=tuple(dict.fromkeys(filter(None, to))),
        message_id=_message_id(head),
        references=fields.ids([*head.get("in-reply-to", []), *head.get("references", [])]),
        subject=subject,
        tag=tag,
        tags=tags,
        date=fields.text(head["date"][0], charset)[:200] if "date" in head else None,
        text=text,
        quoted=quoted,
        kind=verdict.kind,
        why=why,
        auto_reply=verdict.auto_reply,
        bounced=verdict.bounce,
        results=tuple(fields.line(value) for value in head.get("authentication-results", [])),
        digest=_digest(tree, raw) if takes else "",
    )


def _charset(tree: parts.Tree) -> str:
    """Return the charset the mail declares for its text: raw 8-bit fields are likely in it too."""
    for piece in tree.pieces[:1]:
        leaf = piece.plain or piece.html
        if leaf:
            return leaf.given.get("charset", "")
    return tree.given.get("charset", "")


def _addresses(head: Fields, name: str, charset: str) -> list[tuple[str, str]]:
    return [
        pair
        for value in head.get(name, ())
        for pair in fields.addresses(fields.eight_bit(fields.unfolded(value), charset))
    ]


def _message_id(head: Fields) -> str:
    """Return the Message-ID as it is, well formed or not, without its brackets."""
    said = fields.first(head, "message-id")
    return said.removeprefix("<").removesuffix(">").strip()[:300]


def _ours(to: Collection[str], own: Collection[str]) -> list[str]:
    return [address for address in to if not own or kind.is_own(address, own)]


def _is_returned(address: str) -> bool:
    """Tell whether an address of ours is one that a single letter bears, as its return path."""
    return "." in _plus(address) or (address.lower().startswith("bounce") and "+" in address)


def _plus(address: str) -> str:
    return address.rpartition("@")[0].partition("+")[2]


def _tags(
    delivered: Collection[str], to: Collection[str], subject: str, own: Collection[str]
) -> tuple[str | None, tuple[str, ...]]:
    """Return the match a mail is for, and all that it is addressed to.

    The address it was delivered to says it, else the subject (its tag may stand after any
    prefixes, and after a list's), else the other addresses.
    """

    def named(addresses: Collection[str]) -> list[str]:
        ours = (a for a in _ours(addresses, own) if not a.lower().startswith("bounce"))
        plus = (_plus(address).lower().partition(".")[0] for address in ours)
        return list(dict.fromkeys(tag for tag in plus if _MATCH.fullmatch(tag)))

    by_envelope, by_address = named(delivered), named(to)
    if by_envelope:
        return by_envelope[0], (by_envelope[0],)
    written = _TAG.findall(subject)
    in_subject = [tag.lower() for tag in written]
    for tag in in_subject:
        if tag in by_address:
            return tag, tuple(by_address)
    lower = [tag for tag in written if tag == tag.lower()]
    choice = (*lower, *by_address, *in_subject)
    return (choice[0] if choice else None), tuple(by_address)


def _digest(tree: parts.Tree, raw: bytes) -> str:
    """Hash what a mail says: its own fields and its content, whatever its line ends."""
    said = hashlib.sha256()
    for name in _SAME:
        for value in tree.fields.get(name, ()):
            said.update(name.encode() + b":" + fields.unfolded(value) + b"\n")
    said.update(raw[tree.body :].replace(b"\r\n", b"\n").rstrip())
    return said.hexdigest()


def _words(tree: parts.Tree, subject: str, takes: Callable[[str], bool]) -> quotes.Cut:
    """Return the writer's own words: of the plain text, the HTML, a text file or the subject."""
    best = quotes.cut("\n".join(_plain(piece.plain) for piece in tree.pieces if piece.plain))
    if takes(best.own):
        return best
    # Of what was cut from the plain text the HTML is not asked again: its quotes are harder to see.
    pages = [piece.html if not (piece.plain and best.quoted) else None for piece in tree.pieces]
    if any(pages):
        said = [
            html.to_text(page.text()) if page else _plain(piece.plain)
            for page, piece in zip(pages, tree.pieces, strict=True)
        ]
        shown = quotes.cut("\n".join(said))
        if takes(shown.own):
            return shown
        best = shown if len(shown.own) > len(best.own) or not best.own else best
    for file in tree.files[:10]:
        cut = quotes.cut(file.text())
        if takes(cut.own):
            return quotes.Cut(f"{best.own}\n{cut.own}".strip("\n"), best.quoted)
    bare, answers = _bare_subject(subject)
    # In a reply the subject is an old one, unless there is nothing else.
    if bare and takes(bare) and not (answers and best.own):
        return quotes.Cut(f"{best.own}\n{bare}".strip("\n"), best.quoted)
    return best


def _plain(leaf: parts.Leaf | None) -> str:
    text = leaf.text() if leaf else ""
    return html.to_text(text) if html.looks_like(text) else text


def _bare_subject(subject: str) -> tuple[str, bool]:
    """Return a subject without its prefixes and tags, and whether it had a reply's prefix."""
    bare, answers = _TAG.sub(" ", subject).strip(), False
    while (colon := bare.find(":", 0, 30)) > 0 or (colon := bare.find("：", 0, 30)) > 0:
        prefix = bare[:colon].strip().lower()
        if prefix.partition("[")[0].rstrip("0123456789^(). ") not in phrases.PREFIXES:
            break
        bare, answers = bare[colon + 1 :].strip(), True
    return bare, answers
