internal import ArgumentParser
internal import HTTPTypes
internal import Tidegate
internal import TidegateDaemon

/// What a request says, whoever carries it out.
struct MessageOptions: ParsableArguments {
    /// A body, the method that it asks for, and the header fields that it brings.
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
        help: ArgumentHelp("The method; GET, or what a body asks for.", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("Send this header: 'Name: value'.", valueName: "header"))
    var headers: [String] = []

    @Option(help: ArgumentHelp("Post this text as a form.", valueName: "text"))
    var data: String?

    @Option(help: ArgumentHelp("Post this text as JSON.", valueName: "text"))
    var jsonBody: String?

    @Option(help: ArgumentHelp("Put this file.", valueName: "file"))
    var uploadFile: String?

    @Option(
        name: .customLong("sha256"),
        help: ArgumentHelp(
            "Fail unless the answer's SHA-256 is this; a file is then not put in its place.", valueName: "hex"))
    var sha256: String?

    func validate() throws {
        _ = try self.fields()
        let bodies = [
            self.data.map { _ in "--data" }, self.jsonBody.map { _ in "--json-body" },
            self.uploadFile.map { _ in "--upload-file" },
        ].compactMap(\.self)
        if bodies.count > 1 { throw ValidationError("\(bodies[0]) and \(bodies[1]) exclude each other") }
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

    /// The header fields: those given, then those of the body that were not.
    func fields() throws -> [HTTPField] {
        let given = try self.headers.map { text in
            try OptionParsing.naming("-H") { () throws(TextError) in try HTTPField(line: text) }
        }
        let own = self.body.headers.filter { own in
            !given.contains { $0.name == own.name }
        }
        return given + own
    }
}
