internal import FoundationEssentials
internal import TidegateCore
internal import TidegateSerialization

extension RequestBody {
    /// The form that is sent a piece at a time; nil for any other body.
    var form: MultipartForm? { if case .stream(let stream) = self { stream.form } else { nil } }
}

extension MultipartForm.Part {
    /// The part as curl's option -F has it; nil for a stream, and for what no argument can hold.
    var curlField: String? {
        guard let name, !name.contains("="), !name.contains("\0") else { return nil }
        let file = self.fileName.map { ";filename=\(Self.quoted($0))" } ?? ""
        let type = self.contentType.map { ";type=\($0)" } ?? ""
        switch self.content {
        case .data(let bytes):
            guard let value = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else { return nil }
            return "\(name)=\(Self.quoted(value))\(file)\(type)"
        case .file(let path):
            // That would be standard input.
            let source = Self.quoted(path == "-" ? "./-" : path)
            return "\(name)=\(self.fileName == nil ? "<" : "@")\(source)\(file)\(type)"
        case .stream: return nil
        }
    }

    // In quotation marks, unless it is a plain word.
    private static func quoted(_ text: String) -> String {
        let isWord = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._/-".contains($0)) }
        guard !isWord else { return text }
        let escaped = text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar == "\"" || scalar == "\\" { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return "\"\(escaped)\""
    }

    /// The part as HAR 1.2 has it among the `params` of `postData`.
    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("name", .string(self.name ?? ""))]
        switch self.content {
        case .data(let bytes):
            if let value = String(validating: bytes, as: UTF8.self) {
                members.append(.init("value", .string(value)))
            } else {
                members.append(.init("value", .string(Data(bytes).base64EncodedString())))
                members.append(.init("comment", "the value is in Base64"))
            }
        case .file(let path): members.append(.init("comment", .string("the content was the file \(path)")))
        case .stream: members.append(.init("comment", "the content is not kept"))
        }
        if let fileName { members.append(.init("fileName", .string(fileName))) }
        if let contentType { members.append(.init("contentType", .string(contentType))) }
        return .object(members)
    }
}
