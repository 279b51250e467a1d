"""Connections that are always verified, and in words why one failed."""

import socket
import ssl

from pbem.post import Unreachable, plain

_REMEDY = "is it up, and are host and port right?"
# What helps against a certificate, by OpenSSL's number for what is wrong with it.
_EXPIRED, _NOT_YET, _OTHER_NAME, _OTHER_ADDRESS = 10, 9, 62, 64
_CERTIFICATE_REMEDIES = {
    _EXPIRED: "have it renewed on the server",
    _NOT_YET: "set the clock of this machine, or of the one that made it",
    _OTHER_NAME: "write host as the certificate has it",
    _OTHER_ADDRESS: "write host as the certificate has it",
}
_UNKNOWN_REMEDY = "have its maker's certificate trusted by the system, or by SSL_CERT_FILE"


def verified() -> ssl.SSLContext:
    """Return a context that checks the server's certificate and name.

    It trusts what the system trusts; `SSL_CERT_FILE` in the environment names another set.
    """
    return ssl.create_default_context()


def unreachable(name: str, error: Exception) -> Unreachable:
    """Say why a connection failed, and whether somebody has to mend something first."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = (error.verify_message or plain(str(error))).rstrip(".")
        remedy = _CERTIFICATE_REMEDIES.get(error.verify_code, _UNKNOWN_REMEDY)
        told = f"{name}: its certificate can't be trusted: {why}; {remedy}"
        return Unreachable(told, lasting=True)
    if isinstance(error, ssl.SSLError):
        why = plain(error.reason or str(error))
        return Unreachable(f"{name}: no TLS connection: {why}; is port and tls right?")
    if isinstance(error, socket.gaierror):
        return Unreachable(f"{name}: no such host is found: {error.strerror}; mend host")
    if isinstance(error, TimeoutError):
        return Unreachable(f"{name}: it doesn't answer; {_REMEDY}")
    if isinstance(error, OSError) and error.strerror:
        return Unreachable(f"{name}: {error.strerror}; {_REMEDY}")
    return Unreachable(f"{name}: {plain(str(error)) or type(error).__name__}")
