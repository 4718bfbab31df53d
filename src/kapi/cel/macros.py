"""Macros: calls that the parser replaces by a fold or a presence test."""

from __future__ import annotations

from kapi.cel.ast import ACCUMULATOR, UNUSED, Call, Comprehension, Ident, ListExpr, Literal, MapExpr, Node, Select
from kapi.cel.parser import Macro, MacroError, MacroKey


def _call(offset: int, function: str, *args: Node) -> Call:
    return Call(offset=offset, function=function, args=list(args))


def _accumulator(offset: int) -> Ident:
    return Ident(offset=offset, name=ACCUMULATOR)


def _variable(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node, message)
    if node.name in (ACCUMULATOR, "__result__"):
        raise MacroError(node, "iteration variable overwrites accumulator variable")
    return node.name


def _variables(args: list[Node], count: int) -> tuple[str, str]:
    message = "argument must be a simple name"
    first = _variable(args[0], message)
    if count == 1:
        return first, ""
    second = _variable(args[1], message)
    if first == second:
        raise MacroError(args[1], f"duplicate variable name: {first}")
    return first, second


def _fold(
    offset: int, macro: str, target: Node, names: tuple[str, str], init: Node, condition: Node, step: Node, result: Node
) -> Node:
    return Comprehension(
        offset=offset, range=target, variable=names[0], variable2=names[1], accumulator=ACCUMULATOR,
        init=init, condition=condition, step=step, result=result, macro=macro,
    )  # fmt: skip


def _bind(offset: int, name: str, value: Node, result: Node) -> Node:
    return Comprehension(
        offset=offset, range=ListExpr(offset=offset, elements=[]), variable=UNUSED, accumulator=name, init=value,
        condition=Literal(offset=offset, value=False), step=Ident(offset=offset, name=name), result=result,
        macro="bind",
    )  # fmt: skip


def has(offset: int, target: Node | None, args: list[Node]) -> Node:
    if not isinstance(args[0], Select):
        raise MacroError(args[0], "invalid argument to has() macro")
    return Select(offset=offset, operand=args[0].operand, name=args[0].name, test_only=True)


def _quantifier(kind: str, count: int) -> Macro:
    def expand(offset: int, target: Node | None, args: list[Node]) -> Node | None:
        assert target is not None
        names = _variables(args, count)
        accu, predicate = _accumulator(offset), args[count]
        true = Literal(offset=offset, value=True)
        if kind == "all":
            condition: Node = _call(offset, "@not_strictly_false", accu)
            return _fold(offset, kind, target, names, true, condition, _call(offset, "_&&_", accu, predicate), accu)
        if kind == "exists":
            init = Literal(offset=offset, value=False)
            condition = _call(offset, "@not_strictly_false", _call(offset, "!_", accu))
            return _fold(offset, kind, target, names, init, condition, _call(offset, "_||_", accu, predicate), accu)
        zero, one = Literal(offset=offset, value=0), Literal(offset=offset, value=1)
        step = _call(offset, "_?_:_", predicate, _call(offset, "_+_", accu, one), accu)
        return _fold(offset, kind, target, names, zero, true, step, _call(offset, "_==_", accu, one))

    return expand


def _collect(offset: int, macro: str, target: Node, names: tuple[str, str], condition: Node | None, item: Node) -> Node:
    accu = _accumulator(offset)
    step: Node = _call(offset, "_+_", accu, ListExpr(offset=offset, elements=[item]))
    if condition is not None:
        step = _call(offset, "_?_:_", condition, step, accu)
    init = ListExpr(offset=offset, elements=[])
    return _fold(offset, macro, target, names, init, Literal(offset=offset, value=True), step, accu)


def map_items(offset: int, target: Node | None, args: list[Node]) -> Node:
    assert target is not None
    name = _variable(args[0], "argument is not an identifier")
    condition = args[1] if len(args) == 3 else None
    return _collect(offset, "map", target, (name, ""), condition, args[-1])


def filter_items(offset: int, target: Node | None, args: list[Node]) -> Node:
    assert target is not None
    name = _variable(args[0], "argument is not an identifier")
    return _collect(offset, "map", target, (name, ""), args[1], args[0])


def transform_list(offset: int, target: Node | None, args: list[Node]) -> Node:
    assert target is not None
    condition = args[2] if len(args) == 4 else None
    return _collect(offset, "map", target, _variables(args, 2), condition, args[-1])


def _transform_map(macro: str) -> Macro:
    def expand(offset: int, target: Node | None, args: list[Node]) -> Node:
        assert target is not None
        names = _variables(args, 2)
        accu = _accumulator(offset)
        inserted = [args[-1]] if macro == "entry" else [Ident(offset=offset, name=names[0]), args[-1]]
        step = _call(offset, "cel.@mapInsert", accu, *inserted)
        if len(args) == 4:
            step = _call(offset, "_?_:_", args[2], step, accu)
        init = MapExpr(offset=offset, entries=[])
        return _fold(offset, "insert", target, names, init, Literal(offset=offset, value=True), step, accu)

    return expand


def _optional_map(function: str, *, flat: bool) -> Macro:
    def expand(offset: int, target: Node | None, args: list[Node]) -> Node:
        assert target is not None
        if not isinstance(args[0], Ident):
            raise MacroError(args[0], f"{function}() variable name must be a simple identifier")
        value = Call(offset=offset, function="value", target=target, args=[])
        bound = _bind(offset, args[0].name, value, args[1])
        mapped = bound if flat else _call(offset, "optional.of", bound)
        present = Call(offset=offset, function="hasValue", target=target, args=[])
        return _call(offset, "_?_:_", present, mapped, _call(offset, "optional.none"))

    return expand


def sort_by(offset: int, target: Node | None, args: list[Node]) -> Node:
    assert target is not None
    if isinstance(target, (Literal, MapExpr)):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target, message)
    name = "@__sortBy_input__"
    keys = map_items(offset, Ident(offset=offset, name=name), args)
    items = Ident(offset=offset, name=name)
    return _bind(offset, name, target, Call(offset=offset, function="@sortByAssociatedKeys", target=items, args=[keys]))


def bind(offset: int, target: Node | None, args: list[Node]) -> Node | None:
    """cel.bind(name, value, result)."""
    if not (isinstance(target, Ident) and target.name == "cel"):
        return None
    if not isinstance(args[0], Ident):
        raise MacroError(args[0], "cel.bind() variable names must be simple identifiers")
    return _bind(offset, args[0].name, args[1], args[2])


STANDARD: dict[MacroKey, Macro] = {
    ("has", 1, False): has,
    ("all", 2, True): _quantifier("all", 1),
    ("exists", 2, True): _quantifier("exists", 1),
    ("exists_one", 2, True): _quantifier("one", 1),
    ("map", 2, True): map_items,
    ("map", 3, True): map_items,
    ("filter", 2, True): filter_items,
}
TWO_VARIABLES: dict[MacroKey, Macro] = {
    ("all", 3, True): _quantifier("all", 2),
    ("exists", 3, True): _quantifier("exists", 2),
    ("exists_one", 3, True): _quantifier("one", 2),
    ("existsOne", 3, True): _quantifier("one", 2),
    ("transformList", 3, True): transform_list,
    ("transformList", 4, True): transform_list,
    ("transformMap", 3, True): _transform_map("map"),
    ("transformMap", 4, True): _transform_map("map"),
    ("transformMapEntry", 3, True): _transform_map("entry"),
    ("transformMapEntry", 4, True): _transform_map("entry"),
}
OPTIONALS: dict[MacroKey, Macro] = {
    ("optMap", 2, True): _optional_map("optMap", flat=False),
    ("optFlatMap", 2, True): _optional_map("optFlatMap", flat=True),
}
LISTS: dict[MacroKey, Macro] = {("sortBy", 2, True): sort_by}
BINDINGS: dict[MacroKey, Macro] = {("bind", 3, True): bind}
