"""Loops: what the comprehension macros run as. Each charges, per round, what the fold that it stands for would."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapi.cel.plan import LIMIT, SPENT, Frame, Plan, Run
from kapi.cel.values import CostLimitExceeded, EvaluationError, NoSuchOverload, runtime_type

Slots = tuple[int, int]
_END = object()


def rounds(items: Any, slots: Slots) -> Iterable[Any]:
    """What one variable, or two as a pair, go through."""
    if isinstance(items, list):
        return enumerate(items) if slots[1] else items
    if isinstance(items, dict):
        return items.items() if slots[1] else items
    name = runtime_type(items).name
    raise EvaluationError(f"got 'types.{name[:1].upper()}{name[1:]}', expected iterable type")


def quantifier(over: Plan, slots: Slots, predicate: Plan, *, decisive: bool) -> Plan:
    """`all` (False decides) and `exists` (True decides); an error counts only if nothing decides."""
    source, test = over.run, predicate.run
    condition = 3 if decisive else 2
    cost = predicate.cost + condition + 1
    first, second = slots

    def run(frame: Frame) -> Any:
        error: EvaluationError | None = None
        limit = frame[LIMIT]
        items = iter(rounds(source(frame), slots))
        for item in items:
            if second:
                frame[first], frame[second] = item
            else:
                frame[first] = item
            frame[SPENT] += cost
            if frame[SPENT] > limit:
                raise CostLimitExceeded
            try:
                value = test(frame)
            except CostLimitExceeded:
                raise
            except EvaluationError as raised:
                error = error or raised
                continue
            if value is decisive:
                if next(items, _END) is not _END:
                    frame[SPENT] += condition
                return decisive
            if value is not (not decisive):
                error = error or NoSuchOverload()
        if error is not None:
            raise error
        return not decisive

    return Plan(run, over.cost + 1)


def exactly_one(items: Plan, slots: Slots, predicate: Plan) -> Plan:
    """Every item is tested: an error is never absorbed."""
    each = _collector(items, slots, predicate, Plan(lambda _: None, 0), chosen_cost=2)

    return Plan(lambda frame: len(each(frame)) == 1, items.cost + 2)


def collect(items: Plan, slots: Slots, predicate: Plan | None, item: Plan) -> Plan:
    """`map`, `filter` and `transformList`."""
    return Plan(_collector(items, slots, predicate, item, chosen_cost=12), items.cost + 1)


def _collector(items: Plan, slots: Slots, predicate: Plan | None, item: Plan, *, chosen_cost: int) -> Run:
    source, make = items.run, item.run
    test = predicate.run if predicate is not None else None
    round_cost = predicate.cost if predicate is not None else 0
    item_cost = item.cost + chosen_cost
    first, second = slots

    def run(frame: Frame) -> list[Any]:
        result: list[Any] = []
        limit = frame[LIMIT]
        for current in rounds(source(frame), slots):
            if second:
                frame[first], frame[second] = current
            else:
                frame[first] = current
            frame[SPENT] += round_cost
            if frame[SPENT] > limit:
                raise CostLimitExceeded
            if test is not None:
                chosen = test(frame)
                if chosen is False:
                    frame[SPENT] += 1
                    continue
                if chosen is not True:
                    raise NoSuchOverload()
            frame[SPENT] += item_cost
            result.append(make(frame))
        return result

    return run


def insert(items: Plan, slots: Slots, predicate: Plan | None, accumulator: int, step: Plan) -> Plan:
    """`transformMap`: the step puts entries into the accumulator's map."""
    each = _collector(items, slots, predicate, step, chosen_cost=0)

    def run(frame: Frame) -> Any:
        made: dict[Any, Any] = {}
        frame[accumulator] = made
        each(frame)
        return made

    return Plan(run, items.cost + 1)


def bind(slot: int, value: Plan, result: Plan) -> Plan:
    make, use = value.run, result.run

    def run(frame: Frame) -> Any:
        frame[slot] = make(frame)
        return use(frame)

    return Plan(run, value.cost + result.cost)
