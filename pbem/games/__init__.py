"""The games that come with pbem; each module fills the protocol `pbem.game.Game`."""
