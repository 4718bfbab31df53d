"""Environments and programs: what may be said, and what was said.

env = Environment({"self": declaration}, KUBERNETES)
program = env.compile("self.replicas <= self.maxReplicas")     # or CompileError
program.evaluate({"self": obj}, budget)                        # or EvaluationError
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kapi.cel.ast import Node
from kapi.cel.bounds import CostEstimate
from kapi.cel.checker import Checker, Names
from kapi.cel.declarations import Declaration, structs_of
from kapi.cel.estimate import estimate
from kapi.cel.functions import Library, Overload
from kapi.cel.limits import PER_CALL_LIMIT
from kapi.cel.parser import Macro, MacroKey, parse
from kapi.cel.plan import SPENT, Frame
from kapi.cel.planner import Planner
from kapi.cel.source import CompileError, InstantiationError, Issue, Source
from kapi.cel.types import CelType
from kapi.cel.validators import validate
from kapi.cel.values import CostLimitExceeded, EvaluationError, NoSuchOverload


class Budget:
    """What evaluations may still spend together, and what each may spend alone."""

    __slots__ = ("per_call", "remaining")

    def __init__(self, total: int, per_call: int = PER_CALL_LIMIT) -> None:
        self.remaining = total
        self.per_call = per_call


class Environment:
    """Variables by name with what they hold, and the libraries that offer functions."""

    def __init__(
        self,
        declarations: Mapping[str, Declaration],
        libraries: Sequence[Library],
        *,
        types: Sequence[Declaration] = (),
        open_types: Sequence[str] = (),
    ) -> None:
        self.declarations = dict(declarations)
        self.functions: dict[str, tuple[Overload, ...]] = {}
        self.macros: dict[MacroKey, Macro] = {}
        named: dict[str, CelType] = {}
        for library in libraries:
            for name, overloads in library.functions.items():
                self.functions[name] = self.functions.get(name, ()) + overloads
            self.macros.update(library.macros)
            named.update(library.types)
        self._named = named
        self._types = tuple(types)
        self._open = tuple(open_types)
        self.names = self._names()

    def _names(self) -> Names:
        structs: dict[str, Declaration] = {}
        for declaration in (*self.declarations.values(), *self._types):
            structs.update(structs_of(declaration))
        variables = {name: declaration.type for name, declaration in self.declarations.items()}
        return Names(variables, self.functions, self._named, structs, self._open)

    def extend(self, declarations: Mapping[str, Declaration]) -> Environment:
        """The same environment with more variables; functions are shared."""
        made = object.__new__(Environment)
        made.declarations = {**self.declarations, **declarations}
        made.functions, made.macros = self.functions, self.macros
        made._named, made._types, made._open = self._named, self._types, self._open
        made.names = made._names()
        return made

    def compile(self, expression: str) -> Program:
        """Parse, check and plan; CompileError lists everything that is wrong."""
        source = Source(expression)
        tree = parse(source, self.macros)
        try:
            issues = Checker(self.names).run(tree) or validate(tree)
            if issues:
                raise CompileError(source, issues)
            return Program(expression, tree, self)
        except InstantiationError as error:
            error.result_type = tree.type
            raise
        except RecursionError:
            raise CompileError(source, [Issue(-1, "expression recursion limit exceeded: 250")]) from None


class Program:
    """A compiled expression. It keeps no state: it may be evaluated any number of times."""

    def __init__(self, expression: str, tree: Node, environment: Environment) -> None:
        self.expression = expression
        self.tree = tree
        self.result_type: CelType = tree.type
        self._declarations = environment.declarations
        planner = Planner(environment.functions)
        plan = planner.plan(tree)
        self._run, self._cost = plan.run, plan.cost
        self.variables: frozenset[str] = frozenset(planner.variables)
        self._slots = [*planner.variables.items()]
        self._size = planner.slots

    def evaluate(self, variables: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The result; EvaluationError says why there is none. The cost is taken from the budget either way."""
        if budget is None:
            return self.measure(variables)[0]
        limit = min(budget.per_call, budget.remaining)
        frame = self._frame(variables, limit)
        try:
            return self._finish(frame, limit)
        finally:
            budget.remaining -= frame[SPENT]

    def measure(self, variables: Mapping[str, Any], limit: int = PER_CALL_LIMIT) -> tuple[Any, int]:
        """The result and what it cost."""
        frame = self._frame(variables, limit)
        return self._finish(frame, limit), frame[SPENT]

    def _frame(self, variables: Mapping[str, Any], limit: int) -> Frame:
        frame: Frame = [None] * self._size
        frame[0] = self._cost
        frame[1] = limit
        for name, slot in self._slots:
            try:
                frame[slot] = variables[name]
            except KeyError:
                raise EvaluationError(f"no such attribute(s): {name}") from None
        return frame

    def _finish(self, frame: Frame, limit: int) -> Any:
        try:
            result = self._run(frame)
        except (TypeError, AttributeError, ValueError):
            # Data that is not of its declared type: schemas are checked first, so this is a last resort.
            raise NoSuchOverload() from None
        except RecursionError:
            raise EvaluationError("expression recursion limit exceeded: 250") from None
        if frame[SPENT] > limit:
            raise CostLimitExceeded
        return result

    def estimate(self) -> CostEstimate:
        """The least and the most that an evaluation can cost, given the bounds of the declarations."""
        return estimate(self.tree, self._declarations)
