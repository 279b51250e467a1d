"""Raw mail opened as the program's own: with its addresses, and within its limits."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from pbem import identity
from pbem.config import Config

if TYPE_CHECKING:
    from pbem.message import Letter


def read(
    config: Config,
    raw: bytes,
    recipient: str = "",
    limit: int | None = None,
    takes: Callable[[str], bool] = bool,
) -> "Letter":
    """Read a raw mail; of one beyond the limit (bytes), its head. `takes` as in `message.read`."""
    # Reading mail takes long to import, and most ticks find none.
    from pbem import message

    own = identity.own_addresses(config.mail.address)
    size_limit = config.mail.size_limit if limit is None else limit
    return message.read(raw, recipient=recipient, own=own, size_limit=size_limit, takes=takes)
