public import HTTPTypes
public import TidegateCore

/// A complete response in the form that serializers use.
public struct ReceivedResponse: Sendable {
    /// The request's method; the response to `HEAD` has no body.
    public var method: String
    /// The status, 100 to 599.
    public var status: Int
    /// The header fields, in order.
    public var fields: [HTTPField]
    /// The body.
    public var body: [UInt8]

    /// A response with these values.
    public init(method: String = "GET", status: Int, fields: [HTTPField] = [], body: [UInt8] = []) {
        self.method = method
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// The media type without its parameters, in lower case; nil without one.
    public var mediaType: String? {
        self.contentType.map { $0.utf8.prefix { $0 != UInt8(ascii: ";") } }.map {
            Substring($0).trimmingOptionalWhitespace.lowercased()
        }
    }

    /// The parameter `charset` of the content type; nil without one.
    public var charset: String? {
        for parameter in self.contentType?.split(separator: ";").dropFirst() ?? [] {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].trimmingOptionalWhitespace.lowercased() == "charset" else { continue }
            let value = parts[1].trimmingOptionalWhitespace
            return value.hasPrefix("\"") && value.hasSuffix("\"") ? String(value.dropFirst().dropLast()) : value
        }
        return nil
    }

    private var contentType: String? { self.fields.first(named: .contentType) }

    /// True if a response of this kind has no body (RFC 9110 6.4.1, and 15.3.6 for 205).
    var hasNoContent: Bool { self.method.uppercased() == "HEAD" || [204, 205, 304].contains(self.status) }

    /// True if the body contains only white space.
    var isBlank: Bool { self.body.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D } }

    /// Checks rules in order; throws an error for the first violated rule.
    public func validate(_ rules: [ResponseRule]) throws(ResponseSerializationError) {
        for rule in rules { if let reason = rule.reason(against: self) { throw self.error(reason) } }
    }

    /// The body as text in the charset with this name.
    func text(in name: String) throws(ResponseSerializationError) -> String {
        guard let charset = Charset(name) else { throw self.error(.unknownCharset(name)) }
        guard let text = charset.text(of: self.body) else { throw self.error(.invalidText(charset: charset.rawValue)) }
        return text
    }

    func error(_ reason: ResponseSerializationError.Reason) -> ResponseSerializationError {
        ResponseSerializationError(reason: reason, response: self)
    }
}

/// A condition for a response, checked before it is decoded.
public enum ResponseRule: Sendable {
    /// The status is one of these.
    case status(Set<Int>)
    /// The media type is one of these, `type/*`, `*/subtype` or `*/*`; parameters and case are ignored.
    ///
    /// A response without a body needs no type. A response that cannot have a body may have any.
    case contentType([String])
    /// The problem that the closure finds, as one clause; nil if there is no problem.
    case custom(@Sendable (ReceivedResponse) -> String?)

    /// A status from 200 to 299.
    public static let success = ResponseRule.status(Set(200...299))

    /// Why a response violates the rule; nil if it does not.
    func reason(against response: ReceivedResponse) -> ResponseSerializationError.Reason? {
        switch self {
        case .status(let statuses): return statuses.contains(response.status) ? nil : .status(response.status)
        case .contentType(let types):
            if response.body.isEmpty, response.mediaType == nil || response.hasNoContent { return nil }
            let type = response.mediaType
            if let type, types.contains(where: { ResponseRule.matches(type, $0.lowercased()) }) { return nil }
            return type == nil && types.contains("*/*") ? nil : .contentType(type, acceptable: types.sorted())
        case .custom(let closure): return closure(response).map { .custom($0) }
        }
    }

    private static func matches(_ type: String, _ pattern: String) -> Bool {
        if pattern == "*/*" || pattern == type { return true }
        return pattern.hasSuffix("/*") && type.hasPrefix(pattern.dropLast())
            || pattern.hasPrefix("*/") && type.hasSuffix(pattern.dropFirst())
    }
}

/// Why a response is not acceptable: the failed rule, and the response with its whole body.
public struct ResponseSerializationError: Error, Sendable, CustomStringConvertible {
    /// The rule that failed.
    public enum Reason: Sendable, Hashable {
        /// The status is not acceptable.
        case status(Int)
        /// The media type is missing or unacceptable; the acceptable types are sorted.
        case contentType(String?, acceptable: [String])
        /// A custom rule of the caller failed.
        case custom(String)
        /// There is no body, but the value needs one.
        case emptyBody
        /// The content type names an unknown charset.
        case unknownCharset(String)
        /// The body is not valid text in this charset.
        case invalidText(charset: String)
        /// The body is not JSON.
        case invalidJSON(JSONError)
        /// The body is JSON or a property list of a different structure; contains the place and the problem.
        case mismatch(path: String, problem: String)
        /// The body is not XML.
        case invalidXML(XMLError)
        /// The body is not a property list.
        case invalidPropertyList
        /// The body is not an image in a known format.
        case unknownImage
    }

    /// The rule that failed.
    public let reason: Reason
    /// The response with its body.
    public let response: ReceivedResponse

    /// One clause without a full stop, which quotes nothing from the body.
    public var description: String {
        switch self.reason {
        case .status(let status): return "the status is \(status)"
        case .contentType(let type, let acceptable):
            let expected = acceptable.isEmpty ? "none is acceptable" : "expected \(acceptable.joined(separator: ", "))"
            return type.map { "the content type is \($0) (\(expected))" } ?? "there is no content type (\(expected))"
        case .custom(let problem): return problem
        case .emptyBody: return "the body is empty"
        case .unknownCharset(let charset): return "the charset \(charset) is not known"
        case .invalidText(let charset): return "the body is not \(charset)"
        case .invalidJSON(let error): return "the body is \(error)"
        case .mismatch(let path, let problem): return path.isEmpty ? problem : "\(path): \(problem)"
        case .invalidXML(let error): return "the body is \(error)"
        case .invalidPropertyList: return "the body is not a property list"
        case .unknownImage: return "the body is not an image in a known format"
        }
    }
}
