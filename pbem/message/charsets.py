"""Bytes to text: transfer encodings and charsets, declared rightly, wrongly or not at all."""

import binascii
import codecs
import re
from functools import lru_cache

# Names Python lacks or takes too narrowly, by the name without dashes and underscores.
_ALIASES = {
    "iso88591": "cp1252",
    "latin1": "cp1252",
    "l1": "cp1252",
    "iso88599": "cp1254",
    "latin5": "cp1254",
    "iso885911": "cp874",
    "tis620": "cp874",
    "windows874": "cp874",
    "dos874": "cp874",
    "iso88598i": "iso8859_8",
    "iso88598e": "iso8859_8",
    "iso88596i": "iso8859_6",
    "iso88596e": "iso8859_6",
    "gb2312": "gb18030",
    "gb231280": "gb18030",
    "gbk": "gb18030",
    "xgbk": "gb18030",
    "cp936": "gb18030",
    "euccn": "gb18030",
    "hzgb2312": "hz",
    "big5": "big5hkscs",
    "xbig5": "big5hkscs",
    "cnbig5": "big5hkscs",
    "shiftjis": "cp932",
    "sjis": "cp932",
    "xsjis": "cp932",
    "windows31j": "cp932",
    "mskanji": "cp932",
    "xeucjp": "euc_jp",
    "iso2022jp": "iso2022_jp_3",
    "csiso2022jp": "iso2022_jp_3",
    "euckr": "cp949",
    "ksc56011987": "cp949",
    "ksc5601": "cp949",
    "windows949": "cp949",
    "xwindows949": "cp949",
    "xmacroman": "mac_roman",
    "macintosh": "mac_roman",
    "xmaccyrillic": "mac_cyrillic",
    "xkoi8r": "koi8_r",
    "koi8": "koi8_r",
    "xcp1251": "cp1251",
    "win1251": "cp1251",
    "ansi1251": "cp1251",
    "unicode11utf7": "utf_7",
    "unicode11utf8": "utf_8",
    "utf8mb4": "utf_8",
    "uft8": "utf_8",
    "utf": "utf_8",
}
# Codecs of Python that are no charset of mail, or that need more than linear time.
_NO_CHARSETS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}
_UNSURE = {"ascii", "cp1252"}
_WIDE = ("utf-16", "utf-32")
# Charsets in which ASCII bytes may stand for something else.
_SHIFTED = (*_WIDE, "utf-7", "utf_7", "iso2022", "hz")
_JAPANESE = b"\x1b$B"
_PLAIN = bytes(range(32, 127))
_INNER_BLANK = re.compile(rb"[\w+/] +[\w+/]")
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]+")
_PADDED_SOFT_BREAK = re.compile(rb"=[ \t]+(?=\r?\n)")


@lru_cache(maxsize=256)
def codec(label: str) -> str | None:
    """Return the name of Python's codec for a charset's label, `None` where there is none."""
    label = label.strip(" \t\"'").split(";")[0][:40]
    bare = re.sub(r"[^a-z0-9]", "", label.lower())
    try:
        name = codecs.lookup(_ALIASES.get(bare, label)).name
        b"a".decode(name, "replace")
    except (LookupError, ValueError):
        return None
    return None if name in _NO_CHARSETS else name


def decode(data: bytes, label: str = "") -> str:
    """Decode bytes by their label, else as strict UTF-8, else by what they look like.

    Never fails; lines of plain ASCII come through whatever the others are. A label of Latin-1 or
    ASCII gives way to valid UTF-8, since that is not valid by chance. NUL is removed.
    """
    name = codec(label) if label else None
    if data.isascii() and not (name and name.startswith(_SHIFTED)):
        text = data.decode("iso2022_jp_3" if _JAPANESE in data else "ascii", "replace")
    else:
        text = _decoded(data, name)
    return text.replace("\0", "").removeprefix("\ufeff")


def _decoded(data: bytes, name: str | None) -> str:
    if name and name.startswith(_WIDE):
        if b"\0" in data:
            return _wide(data, name)
        name = None
    if name is None or name in _UNSURE:
        text = _strict(data, "utf-8")
        if text is not None:
            return text
    if name and name != "ascii":
        text = _strict(data, name)
        if text is not None:
            return text
    text = _strict(data, "utf-8") if name != "utf-8" else None
    if text is not None:
        return text
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return _guessed(data, name)


def _strict(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (UnicodeError, ValueError):
        return None


def _wide(data: bytes, name: str) -> str:
    """Decode UTF-16 or UTF-32; without a mark, the place of the NULs says which end is first."""
    if name in _WIDE and data[:2] not in (b"\xff\xfe", b"\xfe\xff", b"\0\0"):
        little = data[1::2].count(0) >= data[::2].count(0)
        name += "-le" if little else "-be"
    return data.decode(name, "replace")


def _guessed(data: bytes, name: str | None) -> str:
    replaced = data.decode("utf-8", "replace")
    bad = replaced.count("\ufffd")
    if sum(map(len, re.findall(r"[^\x00-\x7f\ufffd]+", replaced[:20_000]))) > 4 * bad:
        return replaced
    from chardet import detect

    odd = b"\n".join(line for line in data.splitlines() if not line.isascii())[:4096]
    guess = codec(detect(odd)["encoding"] or "")
    if guess and _strict(_PLAIN, guess) == _PLAIN.decode():
        text = _strict(data, guess)
        if text is not None:
            return text
    if name and name not in ("utf-8", "ascii"):
        return data.decode(name, "replace")
    return data.decode("cp1252", "replace")


def transferred(data: bytes, encoding: str) -> bytes:
    """Undo a transfer encoding as leniently as mail clients do; an unknown one is none."""
    encoding = encoding.strip().lower().replace("_", "-").split(";")[0].split("(")[0].strip("\" '")
    if encoding == "quoted-printable":
        if b"= " in data or b"=\t" in data:
            data = _PADDED_SOFT_BREAK.sub(b"=", data)
        return binascii.a2b_qp(data)
    if encoding == "base64":
        return _base64(data)
    if encoding in ("x-uuencode", "uuencode", "x-uue"):
        return _uuencoded(data)
    return data


def _base64(data: bytes) -> bytes:
    padding = data.find(b"=")
    if _INNER_BLANK.search(data[: min(padding, 2000) if padding >= 0 else 2000]):
        # Said to be base64, and is plain text.
        return data
    if padding >= 0:
        # What follows the padding is a footer that somebody put there, or more base64.
        after = data[padding:].lstrip(b"=").strip()
        head = _unpadded(data[:padding])
        if not after or _INNER_BLANK.search(after[:2000]) or b"_" in after[:80]:
            return head
        return head + b"".join(_unpadded(chunk) for chunk in after.split(b"=") if chunk)
    return _unpadded(data)


def _unpadded(data: bytes) -> bytes:
    data = _NOT_BASE64.sub(b"", data)
    if len(data) % 4 == 1:
        data = data[:-1]
    return binascii.a2b_base64(data + b"=" * (-len(data) % 4))


def _uuencoded(data: bytes) -> bytes:
    found: list[bytes] = []
    inside = False
    for line in data.splitlines():
        if not inside:
            inside = line.startswith(b"begin ")
        elif line.strip() == b"end":
            break
        else:
            try:
                found.append(binascii.a2b_uu(line))
            except binascii.Error:
                continue
    return b"".join(found) if inside else data
