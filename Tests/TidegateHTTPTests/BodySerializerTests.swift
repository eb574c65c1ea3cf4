import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateHTTP

/// Bodies in JSON, property lists and multipart forms.
@Suite struct BodySerializerTests {
    private func json(_ parameters: (any Encodable)?, method: String = "POST") throws -> SerializedRequest {
        var request = SerializedRequest(method: method, url: QueryTests.url)
        try JSONRequestSerializer().serialize(parameters, into: &request)
        return request
    }

    @Test("Q14: dictionaries, arrays and fragments as JSON; members of a JSON value keep their order")
    func json() throws {
        let request = try self.json(["key": "value"])
        #expect(QueryTests.body(request) == #"{"key":"value"}"#)
        #expect(request.headers == [HTTPField(name: .contentType, value: "application/json")])
        #expect(QueryTests.body(try self.json([["key": "value"]])) == #"[{"key":"value"}]"#)
        #expect(QueryTests.body(try self.json("a/b")) == #""a/b""#)
        let value: JSONValue = ["z": 1, "a": [nil, true, 1.5, "\u{1F}\""]]
        #expect(QueryTests.body(try self.json(value)) == #"{"z":1,"a":[null,true,1.5,"\u001f\""]}"#)
    }

    @Test("Without parameters there is no body and no content type; GET has a query")
    func jsonWithoutBody() throws {
        let request = try self.json(nil)
        #expect(QueryTests.body(request) == nil)
        #expect(request.headers.isEmpty)
        #expect(try self.json(["a": 1], method: "GET").url == QueryTests.url + "?a=1")
    }

    @Test("Q15: a number that JSON has not is an error that names its parameter")
    func invalidNumbers() throws {
        let value: JSONValue = ["user": ["limits": [1, .number(.nan)]]]
        #expect(throws: RequestSerializationError.self) { try self.json(value) }
        for parameters in [value, ["user": ["limits": [1, Double.infinity]]]] as [any Encodable] {
            let error = #expect(throws: RequestSerializationError.self) { try self.json(parameters) }
            #expect(error?.description == "the parameter user.limits[1] is not a finite number")
        }
    }

    @Test(
        "Q16: a lone surrogate is no character",
        arguments: [#""\uD800""#, #""\ud800x""#, #"["\uDC00"]"#, #""\uD800\u0041""#])
    func loneSurrogates(text: String) throws {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text.utf8) }
        #expect(error?.kind == .loneSurrogate)
        #expect(try JSONValue(parsing: #""\uD83D\uDE03""#.utf8) == "😃")
    }

    @Test("A property list in XML; what it cannot express is an error")
    func propertyList() throws {
        var request = SerializedRequest(method: "PUT", url: QueryTests.url)
        try PropertyListRequestSerializer().serialize(["key": [1, 2]], into: &request)
        #expect(request.headers.map(\.value) == ["application/x-plist"])
        let body = try #require(QueryTests.body(request))
        #expect(try PropertyListDecoder().decode([String: [Int]].self, from: Data(body.utf8)) == ["key": [1, 2]])
        #expect(body.hasPrefix("<?xml"))

        let nulls: [any Encodable] = [
            ["key": nil] as JSONValue, "text", [1, nil] as [Int?], ["a": ["b": nil as Int?]],
        ]
        for parameters in nulls {
            let error = #expect(throws: RequestSerializationError.self) {
                try PropertyListRequestSerializer().serialize(parameters, into: &request)
            }
            #expect(error?.description.hasSuffix("which a property list cannot express") == true)
        }
        // A string that only looks like one is sent.
        try PropertyListRequestSerializer().serialize(["key": "$null"], into: &request)
        #expect(QueryTests.body(request)?.contains("<string>$null</string>") == true)

        request = SerializedRequest(method: "GET", url: QueryTests.url)
        try PropertyListRequestSerializer().serialize(["a": 1], into: &request)
        #expect(request.url.hasSuffix("?a=1"))
    }

    // MARK: - Multipart

    private struct Counter: RandomNumberGenerator {
        var value: UInt64 = 0
        mutating func next() -> UInt64 {
            self.value += 0x1_0000_0001
            return self.value
        }
    }

    private func text(_ form: MultipartForm) -> String {
        form.contents.map { content in
            switch content {
            case .data(let bytes): String(decoding: bytes, as: UTF8.self)
            case .file(let path): "<\(path)>"
            case .stream: "<stream>"
            }
        }.joined()
    }

    @Test("The framing of a form, its boundary and the parts' types")
    func framing() throws {
        var form = MultipartForm(generator: Counter())
        let boundary = form.boundary
        #expect(try boundary.wholeMatch(of: Regex("Boundary\\+[0-9A-F]{16}")) != nil)
        #expect(form.contentType == "multipart/form-data; boundary=\(boundary)")
        #expect(self.text(form) == "--\(boundary)--\r\n")

        try form.append(parameters: ["b": JSONValue.null, "a": ["x", "y"]] as JSONValue)
        try form.append(parameters: ["raw": Data("bytes".utf8)])
        form.append(.data(Array("1".utf8)), name: "one", fileName: "one.JSON")
        form.append(.file("/tmp/dir/photo.jpeg"), name: "photo")
        form.append(.stream { nil }, name: "stream", fileName: "x", contentType: "text/x")
        form.append(.data([]), headers: [HTTPField(name: .contentType, value: "text/own")])
        let parts = [
            #"Content-Disposition: form-data; name="a[]""# + "\r\n\r\nx",
            #"Content-Disposition: form-data; name="a[]""# + "\r\n\r\ny",
            #"Content-Disposition: form-data; name="b""# + "\r\n\r\n",
            #"Content-Disposition: form-data; name="raw""# + "\r\n\r\nbytes",
            #"Content-Disposition: form-data; name="one"; filename="one.JSON""#
                + "\r\nContent-Type: application/json\r\n\r\n1",
            #"Content-Disposition: form-data; name="photo"; filename="photo.jpeg""#
                + "\r\nContent-Type: image/jpeg\r\n\r\n</tmp/dir/photo.jpeg>",
            #"Content-Disposition: form-data; name="stream"; filename="x""#
                + "\r\nContent-Type: text/x\r\n\r\n<stream>",
            "Content-Type: text/own\r\n\r\n",
        ]
        let expected = parts.map { "--\(boundary)\r\n\($0)" }.joined(separator: "\r\n") + "\r\n--\(boundary)--\r\n"
        #expect(self.text(form) == expected)
    }

    @Test("Names and file names cannot leave their quotation marks")
    func quoting() {
        var form = MultipartForm(generator: Counter())
        form.append(
            .data([]), name: "a\"b\nc\r\nd\re", fileName: "x\"\r\nX-Injected: 1", contentType: "text/x\r\nX-Too: 1")
        let text = self.text(form)
        #expect(
            text.contains(
                #"; name="a%22b%0D%0Ac%0D%0Ad%0D%0Ae"; filename="x%22%0D%0AX-Injected: 1""# + "\r\n"))
        #expect(text.contains("Content-Type: text/x%0D%0AX-Too: 1\r\n\r\n"))
    }

    @Test("Two forms have two boundaries")
    func boundaries() { #expect(MultipartForm().boundary != MultipartForm().boundary) }
}
