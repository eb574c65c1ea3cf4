internal import ArgumentParser
internal import HTTPTypes
internal import Tidegate
internal import TidegateDaemon

/// The method, header fields and body of a request, for `fetch` and `tasks submit`.
struct RequestOptions: ParsableArguments {
    /// A body with the method and the header fields that it implies.
    struct Body: Equatable {
        enum Content: Equatable {
            case none
            case text(String)
            case file(String)
        }

        var content: Content
        var method: String
        var headers: [HTTPField] = []
    }

    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("Request method (default: GET, or what the body option implies).", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("Header field to send, as 'Name: value' (repeatable).", valueName: "header"))
    var headers: [String] = []

    @Option(help: ArgumentHelp("POST this text as application/x-www-form-urlencoded.", valueName: "text"))
    var data: String?

    @Option(help: ArgumentHelp("POST this text as application/json.", valueName: "text"))
    var jsonBody: String?

    @Option(help: ArgumentHelp("PUT this file.", valueName: "file"))
    var uploadFile: String?

    @Option(
        name: .customLong("sha256"),
        help: ArgumentHelp("Fail unless the response body has this SHA-256 digest.", valueName: "hex"))
    var sha256: String?

    func validate() throws {
        _ = try self.fields()
        let bodies = [
            self.data.map { _ in "--data" }, self.jsonBody.map { _ in "--json-body" },
            self.uploadFile.map { _ in "--upload-file" },
        ].compactMap(\.self)
        if bodies.count > 1 { throw ValidationError("\(bodies[0]) and \(bodies[1]) are mutually exclusive") }
        if let sha256 { _ = try OptionParsing.digest(sha256, of: "--sha256") }
    }

    var body: Body {
        if let text = self.data {
            let type = HTTPField(name: .contentType, value: "application/x-www-form-urlencoded")
            return Body(content: .text(text), method: "POST", headers: [type])
        }
        if let text = self.jsonBody {
            let headers = [HTTPField.Name.contentType, .accept].map { HTTPField(name: $0, value: "application/json") }
            return Body(content: .text(text), method: "POST", headers: headers)
        }
        if let file = self.uploadFile { return Body(content: .file(file), method: "PUT") }
        return Body(content: .none, method: "GET")
    }

    /// The header fields of `-H`, then those that the body implies and `-H` does not set.
    func fields() throws -> [HTTPField] {
        let given = try self.headers.map { text in
            try OptionParsing.naming("-H") { () throws(TextError) in try HTTPField(line: text) }
        }
        let implied = self.body.headers.filter { field in
            !given.contains { $0.name == field.name }
        }
        return given + implied
    }
}
