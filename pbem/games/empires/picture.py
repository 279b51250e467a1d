"""Where things stand in the picture of a round: the bid matrix as a map of heat."""

from collections.abc import Mapping
from typing import Any

from pbem import colours
from pbem.game import Json
from pbem.games.empires.tables import shortened

# Bids go from pale to dark blue; the figures are dark on the paler ones, white on the others.
_PALE, _DARK = (232, 240, 248), (11, 60, 104)
_NAMES, _WIDE, _HIGH, _TOP = 200, 74, 34, 86


def picture(matrix: Mapping[str, Any]) -> Json:
    """Return the places, colours and texts of a matrix's cells, in pixels."""
    bids = [c["bid"] or c["price"] or 0 for row in matrix["rows"] for c in row["cells"]]
    most = max(bids, default=0) or 1
    seats = [
        {
            "x": _NAMES + _WIDE * at,
            "label": who["label"],
            "colour": colours.of_seat(who["at"]),
        }
        for at, who in enumerate(matrix["seats"])
    ]
    rows = []
    for down, row in enumerate(matrix["rows"]):
        cells = [
            {"x": one["x"], "colour": one["colour"], **_look(cell, most)}
            for one, cell in zip(seats, row["cells"], strict=True)
        ]
        name = shortened(row["empire"], 18)
        rows.append({"y": _TOP + _HIGH * down, "empire": name, "sp": row["sp"], "cells": cells})
    claims = [
        {"seat": cell["seat"], "empire": row["empire"], "price": cell["price"]}
        for row in matrix["rows"]
        for cell in row["cells"]
        if cell["price"] is not None
    ]
    return {
        "title": f"Epoch {matrix['epoch']}, round {matrix['round']}",
        "width": _NAMES + _WIDE * len(seats) + 16,
        "height": _TOP + _HIGH * len(rows) + 34,
        "seats": seats,
        "rows": rows,
        "claims": claims,
        "hidden": matrix["hidden"],
    }


def _look(cell: Mapping[str, Any], most: int) -> Json:
    claimed = cell["price"] is not None
    amount = cell["bid"] if cell["bid"] is not None else cell["price"]
    share = (amount or 0) / most
    mixed = (round(p + (d - p) * share) for p, d in zip(_PALE, _DARK, strict=True))
    fill = "#{:02x}{:02x}{:02x}".format(*mixed) if amount else "#f6f6f3"
    text = "?" if amount is None else str(amount or "")
    if claimed and cell["price"] != amount:
        text = f"{text or 0} → {cell['price']}"
    return {
        "fill": fill,
        "ink": "#ffffff" if share > 0.58 else "#23262b" if amount or claimed else "#6f6f69",
        "text": text,
        "size": 14 if len(text) <= 6 else 10 if len(text) <= 10 else 7,
        "claimed": claimed,
    }
