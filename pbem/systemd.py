"""What systemd is told of a service that runs for ever, where it asks to be told (sd_notify)."""

import os
import socket


def notify(state: str) -> None:
    """Say how the service stands, such as `READY=1`; without systemd nobody is told.

    The socket is named in the environment, by a path or (with a leading @) without a file.
    """
    place = os.environ.get("NOTIFY_SOCKET")
    if not place:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaker:
        speaker.connect("\0" + place[1:] if place.startswith("@") else place)
        speaker.sendall(state.encode())
