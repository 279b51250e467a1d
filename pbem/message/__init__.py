"""Raw mail read: from bytes to the writer's own words, and what the mail is."""

from pbem.message.kind import Bounce, Kind, is_own
from pbem.message.letter import Letter, read

__all__ = ["Bounce", "Kind", "Letter", "is_own", "read"]
