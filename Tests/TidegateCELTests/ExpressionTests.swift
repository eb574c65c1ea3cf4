import Testing
import TidegateCore

@testable import TidegateCEL

/// What expressions of each kind are for one document.
struct ExpressionTests {
    static let document: JSONValue = [
        "name": "tide", "count": 5, "ratio": 1.5, "on": true, "off": false, "nothing": nil,
        "list": [1, 2, 3], "words": ["a", "b", "a"], "nested": ["deep": ["er": "yes"]],
        "é": "composed", "when": "2026-11-20T23:14:22Z",
        "items": [["id": 1, "ok": true], ["id": 2, "ok": false], ["id": 3]],
    ]

    /// What an expression comes to: a bool, or the text of an error.
    static func outcome(_ text: String) -> String {
        do throws(CELError) {
            return String(try CELExpression(text, variable: "body").isTrue(of: Self.document))
        } catch {
            return error.description
        }
    }

    @Test(
        "These are true",
        arguments: [
            "true", "!false", "body.on", "!body.off", "body.name == 'tide'", "body['name'] == \"tide\"",
            "body.count == 5", "body.count == 5.0", "body.count == 5u", "body.count > 4 && body.count < 6",
            "body.ratio >= 1.5", "body.nothing == null", "body.count != null", "body.name != 5",
            "body.nested.deep.er == 'yes'", "has(body.nested.deep)", "!has(body.missing)", "has(body.nothing)",
            "'name' in body", "!('no' in body)", "2 in body.list", "!(4 in body.list)", "dyn(2.0) in [1, 2, 3]",
            "body.list[0] == 1", "body.list[1.0] == 2", "body.list == [1, 2, 3]", "body.list == [1.0, 2u, 3]",
            "body.nested == {'deep': {'er': 'yes'}}", "{1: 'a'}[dyn(1.0)] == 'a'", "{1: 'a'} == dyn({1u: 'a'})",
            "size(body.list) == 3", "body.list.size() == 3", "size(body) == 12", "size('é') == 1", "size(b'é') == 2",
            "body.list.all(x, x > 0)", "body.list.exists(x, x == 2)", "body.list.exists_one(x, x == 2)",
            "!body.words.exists_one(x, x == 'a')", "body.list.filter(x, x > 1) == [2, 3]",
            "body.list.map(x, x * 2.0) == dyn([2, 4, 6])", "body.list.map(x, x > 1, x + 1.0) == [3.0, 4.0]",
            "body.nested.all(key, key == 'deep')", "body.items.exists(i, i.id == 2 && !i.ok)",
            "body.items.filter(i, has(i.ok)).map(i, i.id) == [1, 2]",
            "[[1, 2], [3]].all(inner, inner.all(x, x < 4))", "[1, 2].exists(x, [2, 3].exists(y, x == y))",
            "body.name.startsWith('ti')", "body.name.endsWith('de')", "body.name.contains('id')",
            "body.name.contains('')", "!body.name.contains('tides')", "body.name.matches('^t.d')",
            "matches(body.name, 'e$')", "body.name.matches('^' + 'tide$')", "1 + 2 * 3 == 7", "(1 + 2) * 3 == 9",
            "10 - 4 - 3 == 3", "7 / 2 == 3", "-7 / 2 == -3", "-7 % 3 == -1", "7u % 4u == 3u", "7.0 / 2.0 == 3.5",
            "--5 == 5", "!!true", "'a' + 'b' == 'ab'", "b'a' + b'\\x62' == b'ab'", "[1] + [2] == [1, 2]",
            "body.count > 3 ? body.name == 'tide' : false", "true || body.missing", "body.missing || true",
            "!(false && body.missing)", "!(body.missing && false)", "[1, 2].exists(x, x == 2 || 1 / 0 == x)",
            "0x10 == 16", "-0x10 == -16", "0xFFu == 255u", "1e3 == 1000.0", ".5 == 0.5", "1.5e-1 == 0.15",
            "-9223372036854775808 < 0", "18446744073709551615u > 0u", "'\\u00e9' == 'é'", "'\\n' == '''\n'''",
            "r'\\n' == '\\\\n'", "'''a'b''' == \"a'b\"", "'\\x41\\101' == 'AA'", "b'\\377' == b'\\xff'",
            "'a' < 'b' && 'Z' < 'a' && 'z' < 'é'", "'e\\u0301' != 'é'", "false < true", "b'a' < b'b'",
            "int('42') == 42 && int(3.9) == 3 && int(-3.9) == -3", "uint('7') == 7u", "double('1.5') == 1.5",
            "string(1) == '1' && string(1.0) == '1' && string(1.5) == '1.5' && string(true) == 'true'",
            "string(1000000.0) == '1e+06' && string(0.00001) == '1e-05' && string(b'a') == 'a'",
            "bool('true') && !bool('0')", "dyn(1) == 1.0", "type(1) == int", "type(body.name) == string",
            "type(body.list) == list && type(body) == map && type(null) == null_type && type(int) == type",
            "type(body.count) == double", "type(timestamp(0)) == google.protobuf.Timestamp",
            "timestamp(body.when).getFullYear() == 2026", "timestamp(body.when).getMonth() == 10",
            "timestamp(body.when).getDate() == 20 && timestamp(body.when).getDayOfMonth() == 19",
            "timestamp(body.when).getDayOfWeek() == 5 && timestamp(body.when).getDayOfYear() == 323",
            "timestamp(body.when).getHours() == 23 && timestamp(body.when).getHours('+02:00') == 1",
            "timestamp(body.when).getMinutes() == 14 && timestamp(body.when).getSeconds() == 22",
            "timestamp('2026-11-20T23:14:22.5Z').getMilliseconds() == 500",
            "timestamp('2026-11-21T01:14:22+02:00') == timestamp(body.when)",
            "timestamp(body.when) - timestamp('2026-11-20T23:00:00Z') == duration('14m22s')",
            "timestamp(body.when) + duration('1h') > timestamp(body.when)", "duration('1h30m').getMinutes() == 90",
            "duration('1.5s') == duration('1500ms') && duration('.5s') == duration('500ms')",
            "string(duration('1m1.5s')) == '61.5s'",
            "string(duration('-500ms')) == '-0.5s'", "int(timestamp('1970-01-01T00:01:00Z')) == 60",
            "string(timestamp('2000-02-29T00:00:00.120Z')) == '2000-02-29T00:00:00.12Z'",
            "body.count == 5 // a remark", "\n body\n.count ==\n5", "{'a': 1, 'b': 2,}['b'] == 2", "[1, 2,][1] == 2",
            "!(0.0 / 0.0 == 0.0 / 0.0)", "dyn(9007199254740993) != 9007199254740992.0",
        ])
    func isTrue(_ text: String) { #expect(Self.outcome(text) == "true") }

    @Test(
        "What has no value says why",
        arguments: [
            ("body.missing", "there is no key \"missing\""),
            ("body.name.first", "a value of type string has no field \"first\""),
            ("body.list[3] == 1", "there is no element 3 in a list of 3"),
            ("body.list[-1] == 1", "there is no element -1 in a list of 3"),
            ("body.list[0.5] == 1", "an index is not a whole number"),
            ("body['no'] == 1", "there is no such key"),
            ("body.count + 1 == 6", "\"+\" does not take double and int"),
            ("body.name > 1", "\">\" does not take string and int"),
            ("body.name", "the result is not a bool but a value of type string"),
            ("body.count && true", "a condition is expected instead of a value of type double"),
            ("!body.count", "\"!\" does not take double"),
            ("-body.name == 1", "\"-\" does not take string"),
            ("1 / (body.list.size() - 3) == 1", "a number is divided by 0"),
            ("9223372036854775807 + body.list.size() > 0", "the result of \"+\" does not fit in 64 bits"),
            ("int(body.name) == 1", "\"tide\" is not a valid int"),
            ("int(1e300) == 1", "1e+300 is out of the range of int"),
            ("uint(-1) == 1u", "-1 is out of the range of uint"),
            ("body.name.matches(body.name + '(')", "\"tide(\" is not a regular expression: missing ): tide("),
            (
                "timestamp(body.name) == timestamp(0)",
                "\"tide\" is not a valid timestamp (such as 2026-11-20T23:14:22Z)"
            ),
            ("duration('1') == duration('1s')", "\"1\" is not a valid duration (such as 1h30m or 1.5s)"),
            (
                "timestamp(0).getHours('Europe/Berlin') == 1",
                "a time zone is UTC or an offset such as +02:00; names of places are not known"
            ),
            ("{'a': 1, 'a': 2} == {}", "a map has the same key twice"),
            ("body.list.exists_one(x, x.y)", "a value of type double has no field \"y\""),
            ("body.count.all(x, true)", "all() is not for a value of type double"),
            ("size(body.count) == 1", "size() does not take double"),
            ("body.list.all(x, x > 0 && x.y)", "a value of type double has no field \"y\""),
        ])
    func failures(_ text: String, _ message: String) { #expect(Self.outcome(text) == message) }
}
