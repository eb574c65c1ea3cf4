import Foundation

/// HAR 1.2 as a JSON Schema, written from the specification (w3c.github.io/web-performance, HAR/Overview), and as much
/// of a validator as it needs.
enum HARSchema {
    private static let named = #"""
        {"type": "object", "required": ["name", "value"], "properties": {
            "name": {"type": "string"}, "value": {"type": "string"}, "comment": {"type": "string"}}}
        """#

    private static let cookie = #"""
        {"type": "object", "required": ["name", "value"], "properties": {
            "name": {"type": "string", "pattern": "^[^=; ]+$"}, "value": {"type": "string"},
            "path": {"type": "string"}, "domain": {"type": "string"}, "expires": {"type": "string"},
            "httpOnly": {"type": "boolean"}, "secure": {"type": "boolean"}, "comment": {"type": "string"}}}
        """#

    private static let request = """
        {"type": "object",
         "required": ["method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"],
         "properties": {
            "method": {"type": "string"}, "url": {"type": "string", "pattern": "^https?://[^#]+$"},
            "httpVersion": {"type": "string", "pattern": "^(HTTP/[0-9.]+)?$"},
            "cookies": {"type": "array", "items": \(cookie)}, "headers": {"type": "array", "items": \(named)},
            "queryString": {"type": "array", "items": \(named)},
            "postData": {"type": "object", "required": ["mimeType", "text"], "properties": {
                "mimeType": {"type": "string"}, "text": {"type": "string"}, "comment": {"type": "string"}}},
            "headersSize": {"type": "integer", "minimum": -1}, "bodySize": {"type": "integer", "minimum": -1},
            "comment": {"type": "string"}}}
        """

    private static let response = """
        {"type": "object",
         "required": ["status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL",
            "headersSize", "bodySize"],
         "properties": {
            "status": {"type": "integer", "minimum": 0}, "statusText": {"type": "string"},
            "httpVersion": {"type": "string", "pattern": "^(HTTP/[0-9.]+)?$"},
            "cookies": {"type": "array", "items": \(cookie)}, "headers": {"type": "array", "items": \(named)},
            "content": {"type": "object", "required": ["size", "mimeType"], "properties": {
                "size": {"type": "integer", "minimum": 0}, "compression": {"type": "integer"},
                "mimeType": {"type": "string"}, "text": {"type": "string"}, "encoding": {"type": "string"}}},
            "redirectURL": {"type": "string"},
            "headersSize": {"type": "integer", "minimum": -1}, "bodySize": {"type": "integer", "minimum": -1}}}
        """

    private static let time = #"{"type": "number", "minimum": -1}"#

    private static let entry = """
        {"type": "object",
         "required": ["startedDateTime", "time", "request", "response", "cache", "timings"],
         "properties": {
            "startedDateTime": {"type": "string",
                "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\\\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"},
            "time": {"type": "number", "minimum": 0}, "request": \(request), "response": \(response),
            "cache": {"type": "object"},
            "timings": {"type": "object", "required": ["send", "wait", "receive"], "properties": {
                "blocked": \(time), "dns": \(time), "connect": \(time), "send": \(time), "wait": \(time),
                "receive": \(time), "ssl": \(time)}},
            "serverIPAddress": {"type": "string", "pattern": "^[0-9a-fA-F.:]+$"}, "connection": {"type": "string"},
            "pageref": {"type": "string"}, "comment": {"type": "string"}}}
        """

    static let text = """
        {"type": "object", "required": ["log"], "properties": {
            "log": {"type": "object", "required": ["version", "creator", "entries"], "properties": {
                "version": {"type": "string", "pattern": "^1\\\\.2$"},
                "creator": {"type": "object", "required": ["name", "version"], "properties": {
                    "name": {"type": "string"}, "version": {"type": "string"}}},
                "entries": {"type": "array", "items": \(entry)}}}}}
        """

    /// What is wrong with an archive; empty if it is one.
    ///
    /// A member that the schema does not know is wrong, too, unless
    /// it begins with an underscore.
    static func problems(in archive: String) throws -> [String] {
        let schema = try JSONSerialization.jsonObject(with: Data(self.text.utf8))
        let value = try JSONSerialization.jsonObject(with: Data(archive.utf8))
        return self.problems(value, schema as? [String: Any] ?? [:], at: "")
    }

    private static func problems(_ value: Any, _ schema: [String: Any], at path: String) -> [String] {
        guard self.isOf(schema["type"] as? String, value) else { return ["\(path): is no \(schema["type"] ?? "")"] }
        var found: [String] = []
        if let minimum = schema["minimum"] as? Double, let number = value as? Double, number < minimum {
            found.append("\(path): \(number) is below \(minimum)")
        }
        if let pattern = schema["pattern"] as? String, let text = value as? String,
            text.range(of: pattern, options: .regularExpression) == nil
        {
            found.append("\(path): \"\(text)\" has another form")
        }
        if let members = value as? [String: Any], let known = schema["properties"] as? [String: [String: Any]] {
            found += (schema["required"] as? [String] ?? []).filter { members[$0] == nil }.map {
                "\(path).\($0): missing"
            }
            for (name, member) in members where !name.hasPrefix("_") {
                found +=
                    known[name].map { self.problems(member, $0, at: "\(path).\(name)") }
                    ?? ["\(path).\(name): not known"]
            }
        }
        if let items = schema["items"] as? [String: Any] {
            for (position, item) in (value as? [Any] ?? []).enumerated() {
                found += self.problems(item, items, at: "\(path)[\(position)]")
            }
        }
        return found
    }

    private static func isOf(_ type: String?, _ value: Any) -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "boolean": value is Bool
        case "integer": (value as? Double).map { $0 == $0.rounded() } ?? false
        case "number": value is Double
        default: false
        }
    }
}
