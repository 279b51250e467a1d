"""What a mail address is: by this every way that one gets in goes, so that a letter can be written.

Where mail comes from is compared otherwise (`identity`), and what may stand in an envelope is the
post's affair.
"""

import re

# The form alone, as a usage line and the command line have it; what it names may still be no place.
FORM = r"[^\s<>@]{1,64}@[^\s<>@]{1,255}"

# Octets: RFC 5321, 4.5.3.1.1 and .3 (a path less its angle brackets); RFC 1035, 2.3.4.
_LONGEST_LOCAL, _LONGEST = 64, 254
_LONGEST_HOST, _LONGEST_LABEL = 253, 63
# What ends an address in a header (RFC 5322, 3.2.3) where it isn't quoted; nothing of ours quotes.
_ENDS_ONE = re.compile(r'[,;:"()\[\]\\]')
# All that parts the labels of a host (RFC 3490, 3.1).
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
_NO_LABEL = re.compile(r"[^A-Za-z0-9_-]")


def fault_of(address: str) -> str:
    """Say why no letter can go to an address, and what would help; empty where one can.

    Local parts are what their servers take them for; hosts are names (RFC 1123), in any script that
    the names of hosts may have (RFC 3490).
    """
    local, at, host = address.rpartition("@")
    if not (local and at and host) or re.search(r"[\s<>@]", local + host):
        return "write it as name@host"
    if not address.isprintable():
        return "it holds a mark that can't be seen; write it anew by hand"
    if sign := _ENDS_ONE.search(local):
        return f"{sign[0]} can't stand before its @; write it as name@host"
    if len(local.encode()) > _LONGEST_LOCAL:
        return f"before its @ there is room for {_LONGEST_LOCAL} bytes; write another"
    fault = fault_of_host(host)
    if not fault and len(f"{local}@{in_ascii(host)}".encode()) > _LONGEST:
        return f"it is longer than the {_LONGEST} bytes that servers take; write another"
    return fault


def fault_of_host(host: str) -> str:
    """Say why a host can't be written to, and what would help; empty where it can."""
    remedy = "write it as it is registered"
    labels = _DOTS.split(host)
    if not all(labels):
        return f"its host, {host}, has nothing before, behind or between its dots; {remedy}"
    for label in labels:
        if fault := _fault_of_label(label):
            return f"a part of its host, {label}, {fault}; {remedy}"
    if len(in_ascii(host)) > _LONGEST_HOST:
        return f"its host is longer than {_LONGEST_HOST} letters; {remedy}"
    return ""


def _fault_of_label(label: str) -> str:
    if label.startswith("-") or label.endswith("-"):
        return "begins or ends with a hyphen"
    coded = label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
    if len(coded) > _LONGEST_LABEL:
        return f"is longer than the {_LONGEST_LABEL} letters that servers take"
    try:
        sign = _NO_LABEL.search(in_ascii(label))
    except UnicodeError:
        return "is no name that a host can have"
    return f"holds {sign[0]}" if sign else ""


def in_ascii(host: str) -> str:
    """Return a host as servers know it (RFC 3490); raise `UnicodeError` where it has no such name.

    One in ASCII is returned as it is.
    """
    return host if host.isascii() else host.encode("idna").decode("ascii")
