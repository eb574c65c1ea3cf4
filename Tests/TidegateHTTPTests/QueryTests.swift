import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateHTTP

/// Queries and forms, to the byte: the rows are those of AFNetworking's and Alamofire's own tests.
@Suite struct QueryTests {
    static let url = "https://example.com/a"

    static func query(
        _ parameters: any Encodable, _ change: (inout QueryEncoding) -> Void = { _ in }
    ) throws -> String {
        var encoding = QueryEncoding()
        change(&encoding)
        return try encoding.query(of: parameters)
    }

    static func request(
        _ method: String, _ parameters: (any Encodable)?, url: String = url,
        _ serializer: FormRequestSerializer = FormRequestSerializer()
    ) throws -> SerializedRequest {
        var request = SerializedRequest(method: method, url: url)
        try serializer.serialize(parameters, into: &request)
        return request
    }

    static func body(_ request: SerializedRequest) -> String? {
        guard case .data(let bytes) = request.body else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("Q4: empty parameters leave the URL unchanged")
    func empty() throws {
        #expect(try Self.request("GET", [String: String]()).url == Self.url)
        #expect(try Self.request("GET", nil).url == Self.url)
    }

    @Test("Q5: reserved characters are percent-encoded, but / and ?")
    func reserved() throws {
        let query = try Self.query(["key": " :#[]@!$&'()*+,;=/?"])
        #expect(query == "key=%20%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D/?")
    }

    @Test("Q7: a closure makes the query, and its error is the request's")
    func closure() throws {
        var serializer = FormRequestSerializer()
        serializer.query = { $0.map { "\($0.name)**\($0.value ?? "")" }.joined(separator: "&&") }
        #expect(try Self.request("GET", ["key": "value"], serializer).url == Self.url + "?key**value")

        struct Refusal: Error { let password = "hunter2" }
        serializer.query = { _ in throw Refusal() }
        let error = #expect(throws: RequestSerializationError.self) {
            try Self.request("GET", ["key": "value"], serializer)
        }
        #expect(error?.description == "the closure that makes the query failed with Refusal")
    }

    @Test("Q11: sequences of many code points stay whole, however long the text")
    func emoji() throws {
        let text = "!" + String(repeating: "👴🏿👷🏻👮🏽", count: 40)
        let query = try Self.query(["test": text])
        #expect(query.hasPrefix("test=%21%F0%9F%91%B4%F0%9F%8F%BF"))
        #expect(query.dropFirst(5).removingPercentEncoding == text)
    }

    @Test("Q17, Q18: pairs in order of their names, after the URL's own query")
    func pairs() throws {
        #expect(try Self.query(["foo": "bar", "baz": "qux"]) == "baz=qux&foo=bar")
        #expect(
            try Self.request("GET", ["foo": "bar"], url: Self.url + "?baz=qux").url == Self.url + "?baz=qux&foo=bar")
    }

    @Test("Q19, Q24: numbers and truth values, literal ones beside numbers")
    func numbers() throws {
        #expect(try Self.query(["foo": 25]) == "foo=25")
        #expect(try Self.query(["foo": false]) == "foo=0")
        #expect(try Self.query(["foo": 1.1]) == "foo=1.1")
        #expect(try Self.query(["foo": true]) == "foo=1")
        #expect(try Self.query(["foo": UInt64.max]) == "foo=18446744073709551615")
        #expect(try Self.query(["foo": Float(0.1)]) == "foo=0.1")
        let all: JSONValue = [
            "a": 1, "b": 0, "c": 1.0, "d": 0.0, "e": .number(Double(Float(1))), "i": true, "j": false, "k": true,
            "l": false,
        ]
        #expect(
            try Self.query(all) { $0.bools = .literal } == "a=1&b=0&c=1&d=0&e=1&i=true&j=false&k=true&l=false")
    }

    @Test("Q20, Q22: the styles of arrays")
    func arrays() throws {
        let parameters: JSONValue = ["foo": ["a", 1, true]]
        #expect(try Self.query(parameters) == "foo%5B%5D=a&foo%5B%5D=1&foo%5B%5D=1")
        #expect(try Self.query(parameters) { $0.arrays = .noBrackets } == "foo=a&foo=1&foo=1")
        #expect(
            try Self.query(parameters) { $0.arrays = .indexInBrackets }
                == "foo%5B0%5D=a&foo%5B1%5D=1&foo%5B2%5D=1")
        #expect(
            try Self.query(parameters) { $0.arrays = .custom { "\($0).\($1 + 1)" } } == "foo.1=a&foo.2=1&foo.3=1")
    }

    @Test("Q25: illegal ASCII is percent-encoded")
    func illegal() throws {
        #expect(try Self.query(["reserved": "?/"]) == "reserved=?/")
        #expect(
            try Self.query(["illegal": " \"#%<>[]\\^`{}|"]) == "illegal=%20%22%23%25%3C%3E%5B%5D%5C%5E%60%7B%7D%7C")
    }

    @Test("Q26, Q27: names are encoded as values are")
    func names() throws {
        #expect(
            try Self.query(["foo&bar": "baz&qux", "foobar": "bazqux"]) == "foo%26bar=baz%26qux&foobar=bazqux")
        #expect(try Self.query(["+foo+": "+bar+"]) == "%2Bfoo%2B=%2Bbar%2B")
        #expect(try Self.query(["percent": "%25"]) == "percent=%2525")
    }

    @Test("Q28: letters beyond ASCII are UTF-8")
    func letters() throws {
        let query = try Self.query(["french": "français", "japanese": "日本語", "arabic": "العربية", "emoji": "😃"])
        #expect(
            query
                == "arabic=%D8%A7%D9%84%D8%B9%D8%B1%D8%A8%D9%8A%D8%A9&emoji=%F0%9F%98%83&french=fran%C3%A7ais"
                + "&japanese=%E6%97%A5%E6%9C%AC%E8%AA%9E")
    }

    // MARK: - Charsets

    private static func form(
        _ charset: Charset, _ parameters: [String: String?], _ change: (inout FormRequestSerializer) -> Void = { _ in }
    ) throws -> SerializedRequest {
        var serializer = FormRequestSerializer()
        serializer.charset = charset
        change(&serializer)
        return try Self.request("POST", parameters, serializer)
    }

    @Test("A form in another charset is percent-encoded in it, and its content type names it")
    func charsets() throws {
        let parameters = ["größe": "5 €~", "b": nil] as [String: String?]
        let windows = try Self.form(.windows1252, parameters)
        #expect(Self.body(windows) == "b&gr%F6%DFe=5%20%80~")
        #expect(windows.headers.map(\.value) == ["application/x-www-form-urlencoded; charset=Windows-1252"])
        #expect(
            Self.body(try Self.form(.windows1252, parameters) { $0.encoding.writesSpacesAsPlus = true })
                == "b&gr%F6%DFe=5+%80~")
        let utf8 = try Self.form(.utf8, parameters)
        #expect(Self.body(utf8) == "b&gr%C3%B6%C3%9Fe=5%20%E2%82%AC~")
        #expect(utf8.headers.map(\.value) == ["application/x-www-form-urlencoded"])
        #expect(Self.body(try Self.form(.latin1, [:])) == "")

        // As AFNetworking: the query of UTF-8, each of its characters in two bytes.
        guard case .data(let bytes) = try Self.form(.utf16LittleEndian, ["a": "é"]).body else {
            Issue.record("a form has no bytes")
            return
        }
        #expect(bytes == Array("a=%C3%A9".utf8).flatMap { [$0, 0] })
        var request = SerializedRequest(method: "GET", url: Self.url)
        var serializer = FormRequestSerializer()
        serializer.charset = .latin1
        try serializer.serialize(["a": "é"], into: &request)
        #expect(request.url == Self.url + "?a=%C3%A9" && request.headers.isEmpty)
    }

    @Test("What a charset lacks is an error that names the parameter and not its value")
    func inexpressible() throws {
        for (charset, parameters) in [
            (Charset.latin1, ["price": "5 €"]), (.ascii, ["price": "ä"]), (.windows1252, ["price": "\u{85}"]),
            (.latin1, ["price": "e\u{301}"]),
        ] {
            let error = #expect(throws: RequestSerializationError.self) { try Self.form(charset, parameters) }
            #expect(error?.description == "the parameter price has a character that \(charset.rawValue) lacks")
        }
        let error = #expect(throws: RequestSerializationError.self) {
            try Self.form(.latin1, ["a": "b"]) { $0.query = { _ in "a=€" } }
        }
        #expect(error?.description == "the text has a character that ISO-8859-1 lacks")
        #expect(Self.body(try Self.form(.latin1, ["a": "b"]) { $0.query = { _ in "a=b" } }) == "a=b")
    }

    @Test("What is written in a charset is read in it", arguments: Charset.allCases)
    func roundTrip(charset: Charset) throws {
        var text = String(String.UnicodeScalarView((0x20..<0x7F).map { Unicode.Scalar(UInt8($0)) }))
        switch charset {
        case .ascii: break
        case .latin1: text += String(String.UnicodeScalarView((0x80...0xFF).map { Unicode.Scalar(UInt8($0)) }))
        case .windows1252: text += "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ ÿ"
        case .utf8, .utf16, .utf16BigEndian, .utf16LittleEndian: text += "€😃"
        }
        var request = SerializedRequest(method: "POST", url: Self.url)
        try request.setText(text, in: charset)
        guard case .data(let bytes) = request.body else {
            Issue.record("a text has no bytes")
            return
        }
        let response = ReceivedResponse(status: 200, fields: request.headers, body: bytes)
        #expect(try TextResponseSerializer().value(of: response) == text)
        #expect(bytes.starts(with: [0xFE, 0xFF]) == (charset == .utf16))
    }

    @Test("Q30: parameters of a POST are its body, with the content type that was chosen")
    func post() throws {
        var serializer = FormRequestSerializer()
        serializer.contentType = "application/x-www-form-urlencoded; charset=utf-8"
        let request = try Self.request("POST", ["foo": 1, "bar": 2], serializer)
        #expect(request.url == Self.url)
        #expect(Self.body(request) == "bar=2&foo=1")
        #expect(request.headers.map(\.value) == ["application/x-www-form-urlencoded; charset=utf-8"])

        let none = try Self.request("PUT", nil)
        #expect(Self.body(none) == "")
        #expect(none.headers.map(\.value) == ["application/x-www-form-urlencoded"])
    }

    @Test("A content type that the request has stays, and methods with a query can be chosen")
    func contentType() throws {
        var request = SerializedRequest(
            method: "POST", url: Self.url, headers: [HTTPField(name: .contentType, value: "text/x")])
        try FormRequestSerializer().serialize(["a": 1], into: &request)
        #expect(request.headers.map(\.value) == ["text/x"])

        var serializer = FormRequestSerializer()
        serializer.methodsWithQuery = ["POST"]
        #expect(try Self.request("post", ["a": 1], serializer).url == Self.url + "?a=1")
        #expect(Self.body(try Self.request("DELETE", ["a": 1], serializer)) == "a=1")
    }

    @Test("Q32: the styles of nested names")
    func keyPaths() throws {
        let parameters = ["a": ["b": "b"]]
        #expect(try Self.query(parameters) == "a%5Bb%5D=b")
        #expect(try Self.query(parameters) { $0.keyPaths = .dots } == "a.b=b")
        #expect(try Self.query(parameters) { $0.keyPaths = .custom { "\($0)-\($1)" } } == "a-b=b")
    }

    @Test("Q33: bytes and dates")
    func dataAndDates() throws {
        #expect(try Self.query(["data": Data("data".utf8)]) == "data=ZGF0YQ%3D%3D")
        #expect(
            try Self.query(["data": Data([1, 2])]) { $0.data = .deferred } == "data%5B%5D=1&data%5B%5D=2")
        #expect(try Self.query(["data": Data([1, 2])]) { $0.data = .custom { "\($0.count)" } } == "data=2")
        let date = ["date": Date(timeIntervalSinceReferenceDate: 123.456)]
        #expect(try Self.query(date) == "date=123.456")
        #expect(try Self.query(date) { $0.dates = .secondsSince1970 } == "date=978307323.456")
        #expect(try Self.query(date) { $0.dates = .millisecondsSince1970 } == "date=978307323456.0")
        #expect(try Self.query(date) { $0.dates = .iso8601 } == "date=2001-01-01T00%3A02%3A03Z")
        #expect(try Self.query(date) { $0.dates = .custom { _ in "then" } } == "date=then")
    }

    @Test("Q35: spaces as plus; what has no names is refused")
    func spacesAndRoots() throws {
        #expect(
            try Self.query(["spaces": "replace with spaces"]) { $0.writesSpacesAsPlus = true }
                == "spaces=replace+with+spaces")
        for root in [[1], "text", JSONValue.array([1]), 5, Set(["a"])] as [any Encodable] {
            let error = #expect(throws: RequestSerializationError.self) { try Self.query(root) }
            #expect(error?.description.contains("have no names for a query or a form") == true)
        }
    }

    @Test("Q36: sets repeat their name, nil is a name, and a fragment does not swallow the query")
    func setsNilsAndFragments() throws {
        #expect(try Self.query(["k": Set(["b", "a"])]) == "k=a&k=b")
        #expect(try Self.query(["k": String?.none]) == "k")
        #expect(try Self.query(["a": [JSONValue.null]]) == "a%5B%5D")
        #expect(try Self.request("GET", ["a": 1], url: Self.url + "#frag").url == Self.url + "?a=1#frag")
        #expect(try Self.request("GET", ["a": 1], url: Self.url + "?b#f?x").url == Self.url + "?b&a=1#f?x")
        #expect(try Self.request("GET", ["a": 1], url: Self.url + "?").url == Self.url + "?a=1")
    }

    @Test("Names are compared by code unit, capitals first")
    func order() throws {
        #expect(try Self.query(["b": 1, "B": 2, "a": 3, "10": 4, "9": 5, "ä": 6]) == "10=4&9=5&B=2&a=3&b=1&%C3%A4=6")
    }

    @Test("Names that begin alike are compared by code unit, too: a surrogate comes before U+E000")
    func orderOfLongNames() throws {
        let ends = [
            "", "1", "10", "2", "a\u{10FFFF}", "a\u{E000}", "a\u{FFFD}", "more than eight bytes 1",
            "more than eight bytes 2",
        ]
        let names = ends.map { "a name of more than sixteen bytes " + $0 }
        #expect(names == names.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) })
        let parameters = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
        let values = try Self.query(parameters).split(separator: "&").map { $0.split(separator: "=").last ?? "" }
        #expect(values == names.indices.map { "\($0)" })
    }

    @Test("Structures, optional members and nested containers")
    func structures() throws {
        struct Inner: Encodable { var tags: Set<String>, none: Int?, url: URL? }
        struct Outer: Encodable {
            var inner: Inner
            var list: [[Int]]
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(self.inner, forKey: .inner)
                var lists = container.nestedUnkeyedContainer(forKey: .list)
                for list in self.list {
                    var nested = lists.nestedUnkeyedContainer()
                    for number in list { try nested.encode(number) }
                }
                var object = container.nestedContainer(keyedBy: Key.self, forKey: .object)
                try object.encodeNil(forKey: .list)
                try self.inner.url.encode(to: container.superEncoder(forKey: .top))
            }
            enum Key: String, CodingKey { case inner, list, object, top }
        }
        let value = Outer(
            inner: Inner(tags: ["y", "x"], none: nil, url: URL(string: "http://h/")), list: [[1, 2], []])
        let query = try Self.query(value).removingPercentEncoding
        #expect(
            query
                == "inner[tags]=x&inner[tags]=y&inner[url]=http://h/&list[][]=1&list[][]=2&object[list]&top=http://h/"
        )
    }

    @Test("A number that is none names its parameter, and no error quotes a value")
    func unencodable() throws {
        struct User: Encodable { var limits: [Double] }
        let error = #expect(throws: RequestSerializationError.self) {
            try Self.query(["user": User(limits: [1, .infinity])])
        }
        #expect(error?.description == "the parameter user.limits[1] is not a finite number")

        struct Secret: Encodable {
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(
                    "hunter2", .init(codingPath: encoder.codingPath, debugDescription: "hunter2 is short"))
            }
        }
        let refusal = #expect(throws: RequestSerializationError.self) { try Self.query(["pass": Secret()]) }
        #expect(refusal?.description == "the parameter pass is of type String, which a query cannot express")
    }
}
