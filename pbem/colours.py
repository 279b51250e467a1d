"""The colours of seats, by position: told apart by those who see few (after Okabe and Ito)."""

SEATS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8C6D31",
    "#555555",
)
# What is nobody's.
NEUTRAL = "#B8B8B0"


def of_seat(position: int) -> str:
    """Return the colour of the seat at a position, from 0; after the last they begin again."""
    return SEATS[position % len(SEATS)]
