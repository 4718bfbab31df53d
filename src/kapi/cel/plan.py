"""The parts that a program is made of: closures over a frame, each with the cost that it always has.

A frame is a list: what was spent, what may be spent, then the variables. A closure does not charge its fixed cost
itself; whoever decides that it runs (a branch, a loop, the program) does. So straight-line code charges once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kapi.cel.source import InstantiationError
from kapi.cel.values import CostLimitExceeded, EvaluationError, NoSuchOverload

SPENT = 0
LIMIT = 1
FIRST_SLOT = 2

Frame = list[Any]
Run = Callable[[Frame], Any]


class Plan(NamedTuple):
    run: Run
    cost: int
    constant: bool = False
    value: Any = None
    slot: int = -1


def constant(value: Any) -> Plan:
    return Plan(lambda _: value, 0, True, value)


def folded(plan: Plan) -> Plan:
    """The plan's value in its place."""
    try:
        return constant(plan.run([0, 0]))
    except EvaluationError as error:
        raise InstantiationError(error) from None


def conjunction(terms: list[Plan]) -> Plan:
    return _logic(terms, False)


def disjunction(terms: list[Plan]) -> Plan:
    return _logic(terms, True)


def _logic(terms: list[Plan], decisive: bool) -> Plan:
    """Short-circuit; an error counts only if no other term decides."""
    if len(terms) == 2:
        return Plan(_logic_of_two(terms[0].run, terms[1].run, terms[1].cost, decisive), terms[0].cost)
    steps = [(term.run, term.cost if position else 0) for position, term in enumerate(terms)]

    def run(frame: Frame) -> Any:
        error: EvaluationError | None = None
        for step, cost in steps:
            frame[SPENT] += cost
            try:
                value = step(frame)
            except CostLimitExceeded:
                raise
            except EvaluationError as raised:
                error = error or raised
                continue
            if value is decisive:
                return decisive
            if value is not (not decisive):
                error = error or NoSuchOverload()
        if error is not None:
            raise error
        return not decisive

    return Plan(run, terms[0].cost)


def _logic_of_two(left: Run, right: Run, cost: int, decisive: bool) -> Run:
    other = not decisive

    def absorb(frame: Frame, error: EvaluationError) -> Any:
        if isinstance(error, CostLimitExceeded):
            raise error
        frame[SPENT] += cost
        try:
            if right(frame) is decisive:
                return decisive
        except CostLimitExceeded:
            raise
        except EvaluationError:
            pass
        raise error

    def run(frame: Frame) -> Any:
        try:
            value = left(frame)
        except EvaluationError as error:
            return absorb(frame, error)
        if value is decisive:
            return decisive
        if value is not other:
            return absorb(frame, NoSuchOverload())
        frame[SPENT] += cost
        value = right(frame)
        if value is True or value is False:
            return value
        raise NoSuchOverload()

    return run


def conditional(test: Plan, then: Plan, otherwise: Plan) -> Plan:
    test_run, then_run, otherwise_run = test.run, then.run, otherwise.run
    then_cost, otherwise_cost = then.cost, otherwise.cost

    def run(frame: Frame) -> Any:
        chosen = test_run(frame)
        if chosen is True:
            frame[SPENT] += then_cost
            return then_run(frame)
        if chosen is False:
            frame[SPENT] += otherwise_cost
            return otherwise_run(frame)
        raise NoSuchOverload()

    return Plan(run, test.cost)


def apply(args: list[Plan], function: Callable[..., Any], price: Callable[..., int] | None) -> Plan:
    """A call; with no price it costs one."""
    cost = sum(arg.cost for arg in args)
    if price is None:
        return Plan(_plain(args, function), cost + 1)
    runs = [arg.run for arg in args]
    if len(runs) == 2:
        first, second = runs

        def run_two(frame: Frame) -> Any:
            a = first(frame)
            b = second(frame)
            result = function(a, b)
            frame[SPENT] += price(a, b, result)
            return result

        return Plan(run_two, cost)

    def run(frame: Frame) -> Any:
        values = [step(frame) for step in runs]
        result = function(*values)
        frame[SPENT] += price(*values, result)
        return result

    return Plan(run, cost)


def _plain(args: list[Plan], function: Callable[..., Any]) -> Run:
    runs = [arg.run for arg in args]
    if len(runs) == 1:
        only = runs[0]
        return lambda frame: function(only(frame))
    if len(runs) == 2:
        first, second = runs
        if args[1].constant:
            value = args[1].value
            return lambda frame: function(first(frame), value)
        return lambda frame: function(first(frame), second(frame))
    return lambda frame: function(*[step(frame) for step in runs])


def same_strings(left: Plan, right: Plan, *, negated: bool) -> Plan:
    """Equality of two strings (or bytes), charged by the shorter one."""
    first, second = left.run, right.run

    def run(frame: Frame) -> bool:
        a = first(frame)
        b = second(frame)
        shorter = len(a) if len(a) < len(b) else len(b)
        frame[SPENT] += (shorter + 9) // 10
        return bool((a == b) is not negated)

    return Plan(run, left.cost + right.cost)
