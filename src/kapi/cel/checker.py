"""The type checker: nodes get their types and calls their overloads, or issues are reported in cel-go's words."""

from __future__ import annotations

from collections.abc import Mapping

from kapi.cel.ast import Call, Comprehension, Entry, Ident, ListExpr, Literal, MapExpr, Node, Select, StructExpr
from kapi.cel.declarations import Declaration
from kapi.cel.functions import Overload
from kapi.cel.source import Issue
from kapi.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    NULL,
    CelType,
    format_call,
    is_dyn,
    list_of,
    map_of,
    optional_of,
    param,
    substitute,
    type_of,
    unwrap_optional,
)
from kapi.cel.unify import Bindings, assignable, assignable_all, most_general
from kapi.cel.values import runtime_type


class Names:
    """What an expression may refer to: variables, functions and types."""

    def __init__(
        self,
        variables: Mapping[str, CelType],
        functions: Mapping[str, tuple[Overload, ...]],
        types: Mapping[str, CelType],
        structs: Mapping[str, Declaration],
        open_structs: tuple[str, ...] = (),
    ) -> None:
        self.variables = variables
        self.functions = functions
        self.types = types
        self.structs = structs
        self.open_structs = open_structs

    def struct(self, name: str) -> Declaration | None:
        """The struct of that name; below an open name (`Object.`) every name is one, with any field."""
        found = self.structs.get(name)
        if found is None and any(name == root or name.startswith(f"{root}.") for root in self.open_structs):
            declaration = Declaration(type=CelType("struct", name), open_fields=True)
            return Declaration(type=CelType("struct", name, (), declaration), open_fields=True)
        return found

    def type_named(self, name: str) -> CelType | None:
        found = self.types.get(name)
        if found is None:
            declaration = self.struct(name)
            found = declaration.type if declaration is not None else None
        return found


class Checker:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.issues: list[Issue] = []
        self.bindings: Bindings = {}
        self.scopes: list[dict[str, CelType]] = []
        self.nodes: list[Node] = []
        self.fresh = 0

    def run(self, tree: Node) -> list[Issue]:
        self.check(tree)
        for node in self.nodes:
            node.type = substitute(self.bindings, node.type, to_dyn=True)
        return self.issues

    def report(self, node: Node, message: str) -> None:
        self.issues.append(Issue(node.offset, message))

    def mismatch(self, node: Node, expected: CelType, actual: CelType) -> None:
        self.report(node, f"expected type '{expected}' but found '{actual}'")

    def new_variable(self) -> CelType:
        self.fresh += 1
        return param(f"_var{self.fresh - 1}")

    def assign(self, left: CelType, right: CelType) -> bool:
        made = assignable(self.bindings, left, right)
        if made is None:
            return False
        self.bindings = made
        return True

    def check(self, node: Node) -> CelType:
        match node:
            case Literal():
                found = NULL if node.value is None else runtime_type(node.value)
            case Ident():
                found = self.ident(node)
            case Select():
                found = self.select(node)
            case Call():
                found = self.call(node)
            case ListExpr():
                found = self.list_literal(node)
            case MapExpr():
                found = self.map_literal(node)
            case StructExpr():
                found = self.struct_literal(node)
            case Comprehension():
                found = self.comprehension(node)
            case _:
                found = ERROR
        node.type = found
        self.nodes.append(node)
        return found

    # Names

    def local(self, name: str) -> CelType | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def resolve(self, node: Ident, name: str) -> CelType | None:
        if not name.startswith("."):
            found = self.local(name)
            if found is not None:
                return found
        name = name.removeprefix(".")
        found = self.names.variables.get(name)
        if found is not None:
            node.name = name
            return found
        found = self.names.type_named(name)
        if found is None:
            return None
        node.constant = found
        return type_of(found)

    def ident(self, node: Ident) -> CelType:
        found = self.resolve(node, node.name)
        if found is None:
            self.undeclared(node, node.name)
            return ERROR
        return found

    def undeclared(self, node: Node, name: str) -> None:
        self.report(node, f"undeclared reference to '{name}' (in container '')")

    def select(self, node: Select) -> CelType:
        name = None if node.test_only else qualified_name(node)
        if name is not None:
            root = name.split(".", 1)[0]
            if self.local(root) is None:
                ident = Ident(offset=node.offset, name=name)
                found = self.resolve(ident, name)
                if found is not None:
                    node.qualified = ident
                    ident.type = found
                    return found
        result = self.field_of(node, node.operand, node.name, optional=False)
        return BOOL if node.test_only else result

    def field_of(self, node: Node, operand: Node, name: str, *, optional: bool) -> CelType:
        operand_type = substitute(self.bindings, self.check(operand))
        target, was_optional = unwrap_optional(operand_type)
        result = ERROR
        if target.kind == "map":
            result = target.params[1]
        elif target.kind == "struct":
            found = target.declaration.find(name) if target.declaration is not None else None
            if found is None:
                self.report(node, f"undefined field '{name}'")
            else:
                result = found.declaration.type
        else:
            if target.kind == "param":
                self.assign(DYN, target)
            elif not is_dyn(target) and target.kind != "error":
                self.report(node, f"type '{target}' does not support field selection")
            result = DYN
        result = substitute(self.bindings, result)
        return optional_of(result) if optional or was_optional else result

    # Calls

    def call(self, node: Call) -> CelType:
        if node.function == "_?._":
            key = node.args[1]
            key.type = runtime_type(key.value) if isinstance(key, Literal) else DYN
            node.overloads = ("select_optional_field",)
            name = key.value if isinstance(key, Literal) else ""
            return self.field_of(node, node.args[0], str(name), optional=True)
        for arg in node.args:
            self.check(arg)
        if node.target is None:
            name = node.function.removeprefix(".")
            overloads = self.names.functions.get(name)
            if overloads is None:
                self.undeclared(node, node.function)
                return ERROR
            node.function = name
            return self.resolve_call(node, overloads)
        return self.member_call(node, node.target)

    def member_call(self, node: Call, target: Node) -> CelType:
        prefix = qualified_name(target)
        if prefix is not None:
            name = f"{prefix}.{node.function}".removeprefix(".")
            namespaced = self.names.functions.get(name)
            if namespaced is not None:
                node.function, node.target = name, None
                return self.resolve_call(node, namespaced)
        self.check(target)
        overloads = self.names.functions.get(node.function)
        if overloads is None:
            self.undeclared(node, node.function)
            return ERROR
        return self.resolve_call(node, overloads)

    def resolve_call(self, node: Call, overloads: tuple[Overload, ...]) -> CelType:
        if node.function in ("_&&_", "_||_"):
            return self.logic(node, overloads[0].id)
        args = [arg.type for arg in ((node.target, *node.args) if node.target else node.args)]
        matched: list[str] = []
        result: CelType | None = None
        for candidate in overloads:
            if candidate.member != (node.target is not None):
                continue
            wanted, made = self.instantiate(candidate)
            bindings = assignable_all(self.bindings, args, wanted)
            if bindings is None:
                continue
            self.bindings = bindings
            matched.append(candidate.id)
            found = substitute(bindings, made)
            if result is None:
                result = found
            elif not is_dyn(result) and found != result:
                result = DYN
        if result is None:
            shown = [substitute(self.bindings, t, to_dyn=True) for t in args]
            signature = format_call(shown, member=node.target is not None)
            self.report(node, f"found no matching overload for '{node.function}' applied to '{signature}'")
            return ERROR
        node.overloads = tuple(matched)
        return result

    def logic(self, node: Call, overload: str) -> CelType:
        node.overloads = (overload,)
        result = BOOL
        for arg in node.args:
            if not self.assign(arg.type, BOOL):
                self.mismatch(arg, BOOL, arg.type)
                result = ERROR
        return result

    def instantiate(self, candidate: Overload) -> tuple[tuple[CelType, ...], CelType]:
        if not candidate.params:
            return candidate.args, candidate.result
        fresh = {parameter: self.new_variable() for parameter in sorted(candidate.params, key=lambda t: t.name)}
        return tuple(substitute(fresh, t) for t in candidate.args), substitute(fresh, candidate.result)

    # Aggregates

    # Mixed types make dyn here; the validators refuse them where Kubernetes does.
    def join(self, previous: CelType | None, current: CelType) -> CelType:
        if previous is None:
            return current
        if self.assign(previous, current):
            return most_general(previous, current)
        return DYN

    def unwrapped(self, node: Node, t: CelType, *, optional: bool) -> CelType:
        if not optional:
            return t
        inner, was_optional = unwrap_optional(t)
        if not was_optional and not is_dyn(inner):
            self.mismatch(node, optional_of(inner), inner)
        return inner

    def list_literal(self, node: ListExpr) -> CelType:
        element: CelType | None = None
        for index, item in enumerate(node.elements):
            found = self.unwrapped(item, self.check(item), optional=index in node.optional)
            element = self.join(element, found)
        return list_of(element or self.new_variable())

    def map_literal(self, node: MapExpr) -> CelType:
        key: CelType | None = None
        value: CelType | None = None
        for entry in node.entries:
            key = self.join(key, self.check(entry.key))
            found = self.unwrapped(entry.value, self.check(entry.value), optional=entry.optional)
            value = self.join(value, found)
        return map_of(key or self.new_variable(), value or self.new_variable())

    def struct_literal(self, node: StructExpr) -> CelType:
        name = node.name.removeprefix(".")
        found = self.names.type_named(name)
        if found is None:
            self.undeclared(node, node.name)
            return ERROR
        node.name = name
        if found.kind != "struct" or found.declaration is None:
            self.report(node, f"'{found.name}' is not a message type")
            return ERROR
        for entry in node.entries:
            self.struct_field(entry, found.declaration)
        return found

    def struct_field(self, entry: Entry, declaration: Declaration) -> None:
        assert isinstance(entry.key, Literal)
        name = str(entry.key.value)
        value = self.check(entry.value)
        field = declaration.find(name)
        value = self.unwrapped(entry.value, value, optional=entry.optional)
        # As upstream: a JSONPatch has every field, of which those that it has not are of no type.
        if field is None or not self.assign(field.declaration.type, value):
            wanted = field.declaration.type if field is not None else ""
            self.report(entry, f"expected type of field '{name}' is '{wanted}' but provided type is '{value}'")

    # Comprehensions

    def comprehension(self, node: Comprehension) -> CelType:
        range_type = substitute(self.bindings, self.check(node.range))
        accumulator = self.check(node.init)
        first, second = self.range_variables(node, range_type)
        self.scopes.append({node.accumulator: accumulator})
        self.scopes.append({node.variable: first, **({node.variable2: second} if node.variable2 else {})})
        self.expect(node.condition, BOOL)
        self.expect(node.step, accumulator)
        self.scopes.pop()
        result = self.check(node.result)
        self.scopes.pop()
        return substitute(self.bindings, result)

    def range_variables(self, node: Comprehension, range_type: CelType) -> tuple[CelType, CelType]:
        if range_type.kind == "list":
            element = range_type.params[0]
            return (INT, element) if node.variable2 else (element, element)
        if range_type.kind == "map":
            return range_type.params[0], range_type.params[1]
        if range_type.kind in ("dyn", "any", "error", "param"):
            self.assign(DYN, range_type)
            return DYN, DYN
        message = (
            f"expression of type '{range_type}' cannot be range of a comprehension (must be list, map, or dynamic)"
        )
        self.report(node.range, message)
        return ERROR, ERROR

    def expect(self, node: Node, wanted: CelType) -> None:
        found = self.check(node)
        if not self.assign(wanted, found):
            self.mismatch(node, wanted, found)


def qualified_name(node: Node) -> str | None:
    """`a.b.c` where the node is nothing but names."""
    parts: list[str] = []
    while isinstance(node, Select):
        if node.test_only:
            return None
        parts.append(node.name)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])
