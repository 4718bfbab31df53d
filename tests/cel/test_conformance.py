"""A table of what expressions evaluate to, what they fail with, and why they do not compile."""

from collections.abc import Callable
from typing import Any

import pytest

from kapi.cel.conversions import to_json
from kapi.cel.source import CompileError
from kapi.cel.values import EvaluationError

RESULTS: list[tuple[str, Any]] = [
    # Literals
    ("0x1F", 31), ("-0x10", -16), ("1e3", 1000.0), (".5", 0.5), ("7u", 7), ("-9223372036854775808", -(2**63)),
    (r"'a\tb\u00e9\x41\101'", "a\tbéAA"), (r"r'a\tb'", r"a\tb"), ("'''a'b'''", "a'b"), ('"""x\ny"""', "x\ny"),
    ("string(b'\\xc3\\xa9')", "é"), ("b'\\377'.size()", 1), ("[1, 2,].size()", 2), ("{'a': 1,}.size()", 1),
    ("1 // a comment\n + 1", 2),
    # Arithmetic
    ("7 / 2", 3), ("-7 / 2", -3), ("7 % -3", 1), ("-7 % 3", -1), ("2 + 3 * 4", 14), ("(2 + 3) * 4", 20),
    ("1 - 2 - 3", -4), ("-(-5)", 5), ("--5", 5), ("7.0 / 2.0", 3.5), ("1.0 / 0.0 > 1e308", True),
    ("3u - 1u", 2), ("'a' + 'b'", "ab"), ("[1] + [2]", [1, 2]), ("b'a' + b'b' == b'ab'", True),
    # Comparison and equality
    ("1 < 1.5", True), ("1u < 2", True), ("-1 < 0u", True), ("2.5 >= 2u", True), ("false < true", True),
    ("'a' < 'b'", True), ("'\U0001f600' > '\uffff'", True), ("b'a' < b'b'", True), ("dyn(1) == 1.0", True),
    ("dyn(1) == 1u", True), ("dyn(1) == '1'", False), ("dyn(true) == 1", False), ("[1, 2] == [1, 2]", True),
    ("[dyn(1)] == [1.0]", True), ("{'a': [1]} == {'a': [1]}", True), ("{'a': 1} == {'b': 1}", False),
    ("double('NaN') == double('NaN')", False), ("null == null", True), ("type(1) == int", True),
    ("type('a') == type('b')", True), ("type([]) == list", True), ("type(type(1)) == type", True),
    # Logic
    ("true || 1 / 0 > 0", True), ("1 / 0 > 0 || true", True), ("false && 1 / 0 > 0", False),
    ("1 / 0 > 0 && false", False), ("true ? 1 : 2", 1), ("!true", False), ("!!true", True),
    ("false ? 1 / 0 : 2", 2), ("false || false || 1 / 0 > 0 || true", True),
    # Containers
    ("1 in [1, 2]", True), ("'a' in {'a': 1}", True), ("dyn(1.0) in [1]", True), ("[1, 2, 3][1]", 2),
    ("{'a': 1}['a']", 1), ("{'a': 1}.a", 1), ("{1: 'x'}[1]", "x"), ("{true: 1}[true]", 1),
    ("has({'a': 1}.a)", True), ("has({'a': 1}.b)", False), ("size('é')", 1), ("size({'a': 1})", 1),
    ("dyn(1) in {true: 1}", False),
    # Comprehensions
    ("[1, 2, 3].all(x, x > 0)", True), ("[].all(x, x > 0)", True), ("[1, 2].exists(x, x == 2)", True),
    ("[1, 2, 2].exists_one(x, x == 2)", False), ("[1, 2].existsOne(x, x == 2)", True),
    ("[1, 2, 3].map(x, x * 2)", [2, 4, 6]), ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
    ("[1, 2, 3].filter(x, x > 1)", [2, 3]), ("{'a': 1, 'b': 2}.map(k, k)", ["a", "b"]),
    ("[0, 2].exists(x, 4 / x == 2)", True), ("[0, 2].all(x, 4 / x == 3)", False),
    ("[[1, 2], [3]].map(l, l.map(x, x + 1))", [[2, 3], [4]]), ("[1, 2].map(x, [3].map(x, x))", [[3], [3]]),
    ("[5, 6].all(i, v, v == i + 5)", True), ("{'a': 1}.exists(k, v, k == 'a' && v == 1)", True),
    ("[1, 2].transformList(i, v, i * v)", [0, 2]), ("[1, 2].transformList(i, v, i > 0, v)", [2]),
    ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}), ("{'a': 1}.transformMapEntry(k, v, {v: k})[1]", "a"),
    # Optionals
    ("optional.of(1).value()", 1), ("optional.none().hasValue()", False), ("{'a': 1}.?a.value()", 1),
    ("{'a': 1}.?b.orValue(2)", 2), ("{'a': {'b': 1}}.?a.?b.orValue(0)", 1), ("[1][?5].hasValue()", False),
    ("[1][?0].or(optional.of(2)).value()", 1), ("[?optional.none(), ?optional.of(2)]", [2]),
    ("{?'a': optional.none(), ?'b': optional.of(1)}", {"b": 1}), ("optional.of(1).optMap(x, x + 1).value()", 2),
    ("{'a': 1}.?a.optFlatMap(x, optional.of(x)).value()", 1), ("optional.ofNonZeroValue('').hasValue()", False),
    ("[1, 2].last().value()", 2), ("optional.unwrap([optional.of(1), optional.none()])", [1]),
    ("optional.of(1) == optional.of(1)", True), ("optional.of(optional.none().orValue(3)).value()", 3),
    # Conversions
    ("int('12')", 12), ("int(3.9)", 3), ("int(-3.9)", -3), ("uint('7')", 7), ("double('1.5')", 1.5),
    ("string(1.0)", "1"), ("string(1e21)", "1e+21"), ("string(123456.0)", "123456"), ("string(1234567.0)", "1.234567e+06"),
    ("string(0.00001)", "1e-05"), ("string(true)", "true"), ("bool('t')", True), ("string(b'hi')", "hi"),
    ("int(timestamp('1970-01-01T00:01:00Z'))", 60), ("int(duration('1s'))", 10**9), ("string(int)", "int"),
    # Times
    ("string(duration('1h30m'))", "5400s"), ("string(duration('1.5s'))", "1.5s"), ("string(duration('-1ms'))", "-0.001s"),
    ("string(timestamp('2020-02-29T12:00:00.5Z'))", "2020-02-29T12:00:00.5Z"),
    ("string(timestamp('2020-01-01T00:00:00+02:00'))", "2020-01-01T00:00:00+02:00"),
    ("timestamp('2020-01-01T00:00:00+02:00') == timestamp('2019-12-31T22:00:00Z')", True),
    ("timestamp('2020-01-01T00:00:00+02:00').getHours()", 22),
    ("timestamp('2020-06-15T12:34:56.789Z').getHours('America/New_York')", 8),
    ("timestamp('2020-06-15T12:34:56Z').getHours('+05:30')", 18), ("timestamp('2020-06-15T12:34:56Z').getMinutes('-02:30')", 4),
    ("timestamp('2020-06-15T12:34:56.789Z').getMilliseconds()", 789), ("timestamp('2020-06-14T00:00:00Z').getDayOfWeek()", 0),
    ("timestamp('2020-12-31T00:00:00Z').getDayOfYear()", 365), ("timestamp('2020-01-01T00:00:00Z').getMonth()", 0),
    ("timestamp('2020-01-01T00:00:00Z').getDate('Asia/Tokyo')", 1), ("timestamp('2020-01-31T00:00:00Z').getDayOfMonth()", 30),
    ("duration('90m').getHours()", 1), ("duration('-90s').getMinutes()", -1), ("timestamp(0).getFullYear()", 1970),
    ("string(timestamp('2020-01-01T00:00:00Z') + duration('24h'))", "2020-01-02T00:00:00Z"),
    ("string(timestamp('2020-01-02T00:00:00Z') - timestamp('2020-01-01T00:00:00Z'))", "86400s"),
    # Strings
    ("'abc'.contains('b')", True), ("'abc'.startsWith('ab')", True), ("'abc'.endsWith('bc')", True),
    ("'abc'.matches('^a.c$')", True), ("'hello'.charAt(4)", "o"), ("'hello'.charAt(5)", ""), ("'hello'.indexOf('l')", 2),
    ("'hello'.indexOf('l', 3)", 3), ("'hello'.indexOf('')", 0), ("'hello'.lastIndexOf('l')", 3),
    ("'hello'.lastIndexOf('l', 2)", 2), ("'HÉ'.lowerAscii()", "hÉ"), ("'hé'.upperAscii()", "Hé"),
    ("'a-b-c'.replace('-', '+')", "a+b+c"), ("'a-b-c'.replace('-', '+', 1)", "a+b-c"), ("'ab'.replace('', '.')", ".a.b."),
    ("'a,b,c'.split(',')", ["a", "b", "c"]), ("'a,b,c'.split(',', 2)", ["a", "b,c"]), ("'abc'.split('')", ["a", "b", "c"]),
    ("'a,b'.split(',', 0)", []), ("'hello'.substring(1, 3)", "el"), ("'hello'.substring(5)", ""),
    ("' \\ta\\u00a0'.trim()", "a"), ("['a', 'b'].join('-')", "a-b"), ("[].join()", ""), ("strings.quote('a\"\\n')", '"a\\"\\n"'),
    ("'%s %d %.2f %x %X %b %o %%'.format(['a', 5, 1.5, 255, 'hi', 5, 8])", "a 5 1.50 ff 6869 101 10 %"),
    ("'%s'.format([[1, 'a', 2.5, null, duration('1s')]])", '[1, "a", 2.500000, null, duration("1s")]'),
    ("'%s'.format([{'b': 1, 'a': true}])", '{"a":true, "b":1}'), ("'%e'.format([1234.5])", "1.234500\u202f×\u202f10⁰³"),
    # Regular expressions
    ("'abc 123 456'.find('[0-9]+')", "123"), ("'abc'.find('[0-9]')", ""), ("'a1b2'.findAll('[0-9]')", ["1", "2"]),
    ("'a1b2c3'.findAll('[0-9]', 2)", ["1", "2"]), ("'abc'.findAll('x')", []),
    # Lists and sets
    ("[1, 2, 3].sum()", 6), ("[1.5, 2.5].sum()", 4.0), ("[].sum()", 0), ("[3, 1, 2].min()", 1), ("['b', 'a'].max()", "b"),
    ("[1, 2, 2].isSorted()", True), ("['b', 'a'].isSorted()", False), ("[1, 2, 2].indexOf(2)", 1),
    ("[1, 2, 2].lastIndexOf(2)", 2), ("[1].indexOf(9)", -1), ("[[1], [2, 3]].flatten()", [1, 2, 3]),
    ("[[1, [2]], [[3]]].flatten(2)", [1, 2, 3]), ("[1, 2, 3].slice(1, 3)", [2, 3]), ("[3, 1, 2].sort()", [1, 2, 3]),
    ("[{'n': 2}, {'n': 1}].sortBy(e, e.n)[0].n", 1), ("[1, 2].reverse()", [2, 1]), ("[1, 1, 2].distinct()", [1, 2]),
    ("lists.range(3)", [0, 1, 2]), ("[1, 2].includes(2)", True), ("'a'.includes('a')", True),
    ("sets.contains([1, 2], [2])", True), ("sets.equivalent([1, 2], [2, 1, 1])", True), ("sets.intersects([1], [2])", False),
]  # fmt: skip

FAILURES = [
    ("9223372036854775807 + 1", "integer overflow"), ("-9223372036854775808 - 1", "integer overflow"),
    ("-(-9223372036854775808)", "integer overflow"), ("-9223372036854775808 / -1", "integer overflow"),
    ("9223372036854775807 * 2", "integer overflow"), ("0u - 1u", "unsigned integer overflow"),
    ("18446744073709551615u + 1u", "unsigned integer overflow"), ("uint(-1)", "unsigned integer overflow"),
    ("int(1e19)", "integer overflow"), ("int(18446744073709551615u)", "integer overflow"),
    ("1 / 0", "division by zero"), ("1 % 0", "modulus by zero"), ("1u / 0u", "division by zero"),
    ("{'a': 1}.b", "no such key: b"), ("{'a': 1}['b']", "no such key: b"), ("{1: 2}[3]", "no such key: 3"),
    ("[1][3]", "index out of bounds: 3"), ("[1][-1]", "index out of bounds: -1"), ("dyn({'a': 1}).b", "no such key: b"),
    ("dyn([1])['a']", "unsupported index type 'string' in list"), ("[].max()", "max called on empty list"),
    ("dyn(1) + 'a'", "no such overload"), ("dyn('a') < 1", "no such overload"), ("!dyn(1)", "no such overload"),
    ("dyn(1) && true", "no such overload"), ("dyn(1) ? 1 : 2", "no such overload"),
    ("dyn(1).startsWith('a')", "no such overload: startsWith(int, string)"),
    ("double('NaN') < 1.0", "NaN values cannot be ordered"), ("1 / 0 > 0 || false", "division by zero"),
    ("[0, 1].all(x, 4 / x == 4)", "division by zero"), ("[0, 2].exists_one(x, 4 / x == 2)", "division by zero"),
    ("optional.none().value()", "optional.none() dereference"), ("'abc'.charAt(4)", "index out of range: 4"),
    ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"), ("'abc'.substring(4)", "index out of range: 4"),
    ("[1, 2].slice(0, 3)", "cannot slice(0, 3), list is length 2"), ("int('x')", "type conversion error from 'string' to 'int'"),
    ("int('9223372036854775808')", "type conversion error from 'string' to 'int'"),
    ("string(b'\\xff')", "invalid UTF-8 in bytes, cannot convert to string"),
    ("timestamp('2020-01-01T00:00:00Z').getHours('No/Where')", "unknown time zone No/Where"),
    ("timestamp('2020-01-01T00:00:00Z').getHours('+01:60')", "timezone offset minutes out of range [0, 59]: +01:60"),
    ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"), ("timestamp(253402300800)", "timestamp overflow"),
    ("duration('2562047h') + duration('2562047h')", "duration overflow"),
    ("'%d'.format([dyn('x')])", "error during formatting: decimal clause can only be used on integers, was given string"),
    ("{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k})", "insert failed: key 1 already exists"),
    ("dyn(1).map(x, x)", "got 'types.Int', expected iterable type"), ("lists.range(2000000)", "operation cancelled: actual cost limit exceeded"),
]  # fmt: skip

COMPILE_ERRORS = [
    ("x", "1:1: undeclared reference to 'x' (in container '')"),
    ("nofunc(1)", "1:7: undeclared reference to 'nofunc' (in container '')"),
    ("1 + 'a'", "1:3: found no matching overload for '_+_' applied to '(int, string)'"),
    ("1 == '1'", "1:3: found no matching overload for '_==_' applied to '(int, string)'"),
    ("1 == 1.0", "1:3: found no matching overload for '_==_' applied to '(int, double)'"),
    ("'a'.reverse()", "1:12: found no matching overload for 'reverse' applied to 'string.()'"),
    ("true && 1", "1:9: expected type 'bool' but found 'int'"),
    ("true ? 1 : 'a'", "1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
    ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
    ("{'a': 1, 'b': 'x'}", "1:15: expected type 'int' but found 'string'"),
    ("[1].all(x, x)", "1:12: expected type 'bool' but found 'int'"),
    ("1.map(x, x)", "1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"),
    ("'a'.b", "1:4: type 'string' does not support field selection"),
    ("has(1)", "1:5: invalid argument to has() macro"),
    ("[1].all(1, true)", "1:9: argument must be a simple name"),
    ("[1].map(1, true)", "1:9: argument is not an identifier"),
    ("[1].all(i, i, true)", "1:12: duplicate variable name: i"),
    ("duration('x')", "1:10: invalid duration argument"),
    ("timestamp('x')", "1:11: invalid timestamp argument"),
    ("'a'.matches('(')", "1:13: invalid matches argument"),
    ("9223372036854775808", "1:1: invalid int literal"),
    ("18446744073709551616u", "1:1: invalid uint literal"),
    ("9" * 5000, "1:1: invalid int literal"),
    ("'%d'.format(['x'])", "1:14: error during formatting: decimal clause can only be used on integers, was given string"),
    ("'%d'.format([1, 2])", "1:12: too many arguments supplied to string.format (expected 1, got 2)"),
    ("'%q'.format([1])", '1:12: could not parse formatting clause: unrecognized formatting clause "q"'),
    ("namespace", "1:1: reserved identifier: namespace"),
    ("cel.bind(x, 1, x)", "1:9: undeclared reference to 'bind' (in container '')"),
    ("a.`b`", "1:3: unsupported syntax: '`'"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), RESULTS)
def test_an_expression_has_the_value_that_the_language_gives_it(
    evaluate: Callable[..., Any], expression: str, expected: Any
) -> None:
    result = to_json(evaluate(expression))
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(("expression", "message"), FAILURES)
def test_an_evaluation_fails_with_the_words_of_cel_go(
    evaluate: Callable[..., Any], expression: str, message: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(expression)
    assert str(caught.value) == message


@pytest.mark.parametrize(("expression", "message"), COMPILE_ERRORS)
def test_what_does_not_compile_is_named_with_its_place(
    evaluate: Callable[..., Any], expression: str, message: str
) -> None:
    with pytest.raises(CompileError) as caught:
        evaluate(expression)
    assert f"ERROR: <input>:{message}\n" in str(caught.value)
