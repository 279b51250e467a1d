"""A seat's sealed plan: its wishes, limits and good, made from orders and written as text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pbem.games.offices.language import GRAMMAR, Defend, Good, Stay, Take
from pbem.usage import Order

Wish = Take | Stay


@dataclass(frozen=True)
class Plan:
    """What a seat wants: wishes in the order written, limits by office (`None`: any), a colour."""

    wishes: tuple[Wish, ...] = ()
    limits: Mapping[str | None, int] = field(default_factory=dict)
    good: str | None = None

    def __bool__(self) -> bool:
        """Tell whether the plan says anything."""
        return bool(self.wishes or self.limits or self.good)

    def limit(self, office: str) -> int | None:
        """Return how far the seat raises as holder; `None` where no line says so (rule 9)."""
        return self.limits.get(office, self.limits.get(None))

    def defence(self, office: str) -> Defend | None:
        """Return the line that says how far the seat raises as holder of the office."""
        named = office if office in self.limits else None
        return Defend(named, self.limits[named]) if named in self.limits else None

    def without(self, index: int) -> "Plan":
        """Return the plan with one wish used up."""
        return Plan(self.wishes[:index] + self.wishes[index + 1 :], self.limits, self.good)


def plan_of(orders: Iterable[Order], before: Plan | None = None) -> Plan:
    """Make a plan of lawful orders: of two `DEFEND` or `GOOD` for the same the later counts.

    Where there was a plan before, its wishes, limits and colour are replaced kind by kind, and
    what the orders don't mention stands (rule 11).
    """
    wishes = tuple(order for order in orders if isinstance(order, Take | Stay))
    limits = {order.office: order.gold for order in orders if isinstance(order, Defend)}
    goods = [order.colour for order in orders if isinstance(order, Good)]
    before = before or Plan()
    return Plan(
        wishes or before.wishes, limits or before.limits, goods[-1] if goods else before.good
    )


def lines(plan: Plan) -> list[str]:
    """Write a plan as order lines."""
    orders: Sequence[Order] = (
        *plan.wishes,
        *(Defend(office, gold) for office, gold in plan.limits.items()),
        *((Good(plan.good),) if plan.good else ()),
    )
    return [GRAMMAR.write(order) for order in orders]
