import Foundation
import HTTPTypes
import Testing
@testable import TidegateCore

@testable import TidegateHTTP

/// Rules, and the values that serializers make of bodies.
@Suite struct ResponseTests {
    static func response(
        _ body: String, type: String? = "application/json", status: Int = 200, method: String = "GET"
    ) -> ReceivedResponse {
        self.response(Array(body.utf8), type: type, status: status, method: method)
    }

    static func response(
        _ body: [UInt8], type: String?, status: Int = 200, method: String = "GET"
    ) -> ReceivedResponse {
        let fields = type.map { [HTTPField(name: .contentType, value: $0)] } ?? []
        return ReceivedResponse(method: method, status: status, fields: fields, body: body)
    }

    private func reason<Value>(
        _ serializer: some ResponseSerializer<Value>, _ response: ReceivedResponse
    ) -> ResponseSerializationError.Reason? {
        do {
            _ = try serializer.value(of: response)
            return nil
        } catch {
            #expect(error.response.body == response.body)
            return error.reason
        }
    }

    private func text(_ rules: ResponseRule...) -> TextResponseSerializer {
        var serializer = TextResponseSerializer()
        serializer.rules = rules
        return serializer
    }

    struct User: Codable, Hashable { var id: Int, name: String? }

    // MARK: - Rules

    @Test("V3: 205 without a type and a body is valid, with a body it is not")
    func noContent() {
        let rules = JSONResponseSerializer<User?>().rules
        #expect(throws: Never.self) { try Self.response("", type: nil, status: 205).validate(rules) }
        let error = #expect(throws: ResponseSerializationError.self) {
            try Self.response("data", type: nil, status: 205).validate(rules)
        }
        #expect(error?.description.hasPrefix("there is no content type (expected application/json") == true)
    }

    @Test("A wrong type fails although there is no body, unless there cannot be one")
    func wrongTypeWithoutBody() {
        let rule = [ResponseRule.contentType(["application/json"])]
        #expect(throws: ResponseSerializationError.self) { try Self.response("", type: "text/html").validate(rule) }
        #expect(throws: Never.self) { try Self.response("", type: "text/html", method: "HEAD").validate(rule) }
        #expect(throws: Never.self) { try Self.response("", type: "text/html", status: 204).validate(rule) }
    }

    @Test("V10, V14: the first rule that is broken is the error")
    func order() {
        let response = Self.response("<p>", type: "text/html", status: 404)
        let status = ResponseRule.status([200])
        let type = ResponseRule.contentType(["application/json"])
        #expect(self.reason(self.text(status), response) == .status(404))
        #expect(self.reason(self.text(status, type), response) == .status(404))
        #expect(
            self.reason(self.text(type, status), response)
                == .contentType("text/html", acceptable: ["application/json"]))
        let custom = ResponseRule.custom { $0.body.count < 10 ? "the body is short" : nil }
        #expect(self.reason(self.text(custom), response) == .custom("the body is short"))
    }

    @Test("V15: the types that are acceptable are sorted")
    func sorted() {
        let error = #expect(throws: ResponseSerializationError.self) {
            try Self.response("x", type: "image/png").validate([.contentType(["text/b", "text/a"])])
        }
        #expect(error?.description == "the content type is image/png (expected text/a, text/b)")
    }

    @Test("Types match without parameters and case, and with a star")
    func types() {
        func matches(_ type: String?, _ pattern: String) -> Bool {
            (try? Self.response("x", type: type).validate([.contentType([pattern])])) != nil
        }
        #expect(matches("Application/JSON ; charset=utf-8", "application/json"))
        #expect(matches("image/png", "image/*"))
        #expect(matches("image/png", "*/*"))
        #expect(matches("Application/json; charset=utf-8", "*/JSON"))
        #expect(!matches("application/problem+json", "*/json") && !matches(nil, "*/json"))
        #expect(matches(nil, "*/*"))
        #expect(!matches("imagex/png", "image/*"))
        #expect(!matches("application/jsonp", "application/json"))
    }

    // MARK: - JSON

    @Test("A Decodable value and a JSON value")
    func json() throws {
        let response = Self.response(#"{"name":"A","id":1}"#)
        #expect(try JSONResponseSerializer<User>().value(of: response) == User(id: 1, name: "A"))
        let value = try JSONResponseSerializer<JSONValue>().value(of: response)
        #expect(value.description == #"{"name":"A","id":1}"#)
        #expect(try JSONResponseSerializer<JSONValue?>().value(of: response) == value)
    }

    @Test("V5: what is not JSON is an error, an empty body or one of spaces is nil", arguments: ["", " ", "\r\n"])
    func emptyBody(body: String) throws {
        let response = Self.response(body)
        #expect(try JSONResponseSerializer<User?>().value(of: response) == nil)
        #expect(try JSONResponseSerializer<JSONValue?>().value(of: response) == nil)
        #expect(self.reason(JSONResponseSerializer<User>(), response) == .emptyBody)
        #expect(self.reason(JSONResponseSerializer<JSONValue>(), response) == .emptyBody)
        let plist = Self.response(body, type: "application/x-plist")
        #expect(self.reason(PropertyListResponseSerializer<User>(), plist) == .emptyBody)
        #expect(try PropertyListResponseSerializer<User?>().value(of: plist) == nil)
        #expect(self.reason(XMLResponseSerializer(), Self.response(body, type: "text/xml")) == .emptyBody)
    }

    @Test("What is not JSON names rule and place, and quotes nothing")
    func invalidJSON() {
        let response = Self.response("{invalid}")
        let reason = ResponseSerializationError.Reason.invalidJSON(JSONError(kind: .invalidStructure, offset: 1))
        #expect(self.reason(JSONResponseSerializer<User>(), response) == reason)
        #expect(self.reason(JSONResponseSerializer<JSONValue>(), response) == reason)
        #expect(self.reason(JSONResponseSerializer<User?>(), response) == reason)
        let error = #expect(throws: ResponseSerializationError.self) {
            try JSONResponseSerializer<User>().value(of: response)
        }
        #expect(
            error?.description == "the body is not JSON: a comma, a colon, a name or a bracket is missing at byte 1")
    }

    @Test(
        "JSON of another form names the member",
        arguments: [
            (#"[{"name":"hunter2"}]"#, "[0]: JSON has no member id"),
            (#"[{"id":"hunter2"}]"#, "[0].id: the value is not Int"),
            (#"[{"id":null}]"#, "[0].id: JSON has no value for Int"),
            (#"[{"id":1e30}]"#, "the value has the right type but is not valid"),
        ])
    func mismatch(body: String, message: String) {
        let error = #expect(throws: ResponseSerializationError.self) {
            try JSONResponseSerializer<[User]>().value(of: Self.response(body))
        }
        #expect(error?.description == message)
        #expect(error?.response.body == Array(body.utf8))
    }

    @Test("Nulls are left out of values")
    func nulls() throws {
        let response = Self.response(#"{"a":null,"b":[1,null,{"c":null}]}"#)
        var serializer = JSONResponseSerializer<JSONValue>()
        serializer.removesNulls = true
        #expect(try serializer.value(of: response) == ["b": [1, [:]]])
        var lists = JSONResponseSerializer<[String: [Int]]>()
        lists.removesNulls = true
        #expect(try lists.value(of: Self.response(#"{"a":null,"b":[1,null]}"#)) == ["b": [1]])
    }

    @Test("Leaving nulls out keeps the digits of numbers, and everything that only looks like a null")
    func nullsAndNumbers() throws {
        struct Numbers: Decodable, Sendable, Equatable { var big: UInt64, small: Int64, exact: Decimal, text: String }
        let body = #"""
            { "no" : null , "big": 18446744073709551615,"small":-9223372036854775808 , "text":"a\"null,\\",
            "exact":1234567890.1234567890123, "list":[null, {"null":null} ,"null" , [ ] ,null] }
            """#
        var serializer = JSONResponseSerializer<Numbers>()
        serializer.removesNulls = true
        let expected = Numbers(
            big: .max, small: .min, exact: try #require(Decimal(string: "1234567890.1234567890123")), text: "a\"null,\\"
        )
        let response = Self.response("\u{FEFF}" + body)
        #expect(try serializer.value(of: response) == expected)
        var values = JSONResponseSerializer<JSONValue>()
        values.removesNulls = true
        let text = String(decoding: JSONNullRemover.remove(from: Array(body.utf8)), as: UTF8.self)
        #expect(try JSONValue(parsing: text.utf8) == values.value(of: response))
        #expect(text.contains(#""list":[{},"null",[]]"#))
        #expect(JSONNullRemover.remove(from: Array(" null ".utf8)) == Array("null".utf8))
    }

    // MARK: - Text

    @Test(
        "Text in the charset of the content type",
        arguments: [
            ("text/plain", [0xC3, 0xA9], "é"), ("text/plain; charset=\"UTF-8\"", [0xEF, 0xBB, 0xBF, 0x61], "a"),
            ("text/plain;charset=iso-8859-1", [0xE9, 0x80], "é\u{80}"),
            ("text/plain; x=1; Charset=windows-1252", [0x80, 0xE9], "€é"),
            ("text/plain; charset=utf-16", [0xFF, 0xFE, 0x61, 0], "a"),
            ("text/plain; charset=utf-16", [0, 0x61], "a"), ("text/plain; charset=us-ascii", [0x61], "a"),
        ] as [(String, [UInt8], String)])
    func text(type: String, bytes: [UInt8], text: String) throws {
        #expect(try TextResponseSerializer().value(of: Self.response(bytes, type: type)) == text)
    }

    @Test(
        "Bytes that a charset has not, and charsets that are not known, are errors",
        arguments: [
            ("text/plain", [0xC3, 0x28], .invalidText(charset: "UTF-8")),
            ("text/plain; charset=us-ascii", [0xE9], .invalidText(charset: "US-ASCII")),
            ("text/plain; charset=utf-16", [0x61], .invalidText(charset: "UTF-16")),
            ("text/plain; charset=utf-16be", [0xD8, 0], .invalidText(charset: "UTF-16BE")),
            ("text/plain; charset=windows-1252", [0x81], .invalidText(charset: "Windows-1252")),
            ("text/plain; charset=klingon", [0x61], .unknownCharset("klingon")),
        ] as [(String, [UInt8], ResponseSerializationError.Reason)])
    func wrongText(type: String, bytes: [UInt8], reason: ResponseSerializationError.Reason) {
        #expect(self.reason(TextResponseSerializer(), Self.response(bytes, type: type)) == reason)
    }

    // MARK: - Property lists, images, compounds

    @Test("Property lists, and what is none")
    func propertyList() throws {
        let encoder = PropertyListEncoder()
        let body = Array(try encoder.encode(User(id: 3, name: nil)))
        let response = Self.response(body, type: "application/x-plist")
        #expect(try PropertyListResponseSerializer<User>().value(of: response) == User(id: 3, name: nil))
        #expect(
            self.reason(PropertyListResponseSerializer<User>(), Self.response("<x", type: "application/x-plist"))
                == .invalidPropertyList)
        #expect(
            self.reason(PropertyListResponseSerializer<[User]>(), response)
                == .mismatch(path: "", problem: "the value is not Array<Any>"))
    }

    @Test("Images are recognised by their bytes, whatever the type says")
    func images() throws {
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]
        let image = try ImageResponseSerializer().value(of: Self.response(png, type: "image/jpeg"))
        #expect(image == ImageData(bytes: png, type: "image/png"))
        let webp = Array("RIFF".utf8) + [1, 2, 3, 4] + Array("WEBPVP8".utf8)
        #expect(
            try ImageResponseSerializer().value(of: Self.response(webp, type: "image/webp")).type == "image/webp")
        #expect(self.reason(ImageResponseSerializer(), Self.response("<html>", type: "image/png")) == .unknownImage)
        #expect(self.reason(ImageResponseSerializer(), Self.response([], type: "image/png")) == .emptyBody)
        #expect(throws: ResponseSerializationError.self) {
            try ImageResponseSerializer().value(of: Self.response(png, type: nil))
        }
    }

    @Test("V7: of a compound the first serializer that has a value wins, else the body itself")
    func compound() throws {
        let compound = CompoundResponseSerializer([
            ImageResponseSerializer(), JSONResponseSerializer<JSONValue>(),
        ])
        let json = try compound.value(of: Self.response(#"{"key":"value"}"#))
        #expect(json as? JSONValue == ["key": "value"])
        let other = try compound.value(of: Self.response("text", type: "text/plain"))
        #expect(other as? Data == Data("text".utf8))
        #expect(throws: ResponseSerializationError.self) { try compound.value(of: Self.response("{}", status: 500)) }
    }

    @Test("The body unchanged, even if it is empty")
    func data() throws {
        #expect(try DataResponseSerializer().value(of: Self.response("", type: nil)) == Data())
        #expect(try DataResponseSerializer().value(of: Self.response("x", type: "a/b")) == Data("x".utf8))
    }
}
