internal import HTTPTypes
internal import Tidegate

/// Reads a value from a node.
struct ValueParser<Value: Sendable>: Sendable {
    let parse: @Sendable (ConfigurationNode) throws(TextError) -> Value
    /// The value's JSON Schema.
    var schema = ConfigurationJSONSchema.scalar

    /// The same parser with another JSON Schema.
    func described(by members: JSONValue.Member...) -> ValueParser {
        ValueParser(parse: self.parse, schema: .object(members))
    }

    /// A parser that converts the value.
    func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) -> Other) -> ValueParser<Other> {
        let parse = self.parse
        return ValueParser<Other>(
            parse: { node throws(TextError) in transform(try parse(node)) }, schema: self.schema)
    }

    /// A value written as a scalar; `expected` is for messages, such as "a duration".
    static func text(_ expected: String, _ parse: @escaping @Sendable (String) throws -> Value) -> ValueParser {
        ValueParser { node throws(TextError) in
            guard case .scalar(let text) = node.content else {
                throw TextError("expected \(expected), found \(node.summary)")
            }
            return try Result { try parse(text) }.mapError { TextError("\($0)") }.get()
        }
    }

    /// A value for which `parse` returns nil if the text is invalid; `problem` is for messages, such as "is not a
    /// name".
    static func text(
        _ expected: String, or problem: String, _ parse: @escaping @Sendable (String) throws -> Value?
    ) -> ValueParser {
        .text(expected) { text in
            guard let value = try parse(text) else { throw TextError("\"\(text)\" \(problem)") }
            return value
        }
    }
}

extension ValueParser<String> {
    static let text = ValueParser.text("a string") { $0 }

    /// A text; `null` is an empty one, as in a mapping of Go's.
    static let textOrNothing = ValueParser { node throws(TextError) in
        try node.isGiven ? ValueParser<String>.text.parse(node) : ""
    }

    /// A text that `check` accepts.
    static func checked(_ expected: String, _ check: @escaping @Sendable (String) throws -> Void) -> ValueParser {
        .text(expected) { text in
            try check(text)
            return text
        }
    }

    /// A text that passes `isGood`; `problem` is the message for other texts.
    static func matching(
        _ expected: String, or problem: String, _ isGood: @escaping @Sendable (String) -> Bool
    ) -> ValueParser {
        .text(expected, or: problem) { isGood($0) ? $0 : nil }
    }

    static func nonEmpty(_ what: String) -> ValueParser {
        .checked("a \(what)") { if $0.allSatisfy(\.isWhitespace) { throw TextError("the \(what) is empty") } }
    }

    static let absolutePath = ValueParser.matching("a path", or: "is not an absolute file path") {
        $0.hasPrefix("/") && !$0.hasSuffix("/") && !$0.contains("\0")
    }

    static let path = ValueParser.matching("a path", or: "is not a file path") { !$0.isEmpty && !$0.hasSuffix("/") }

    /// Permission bits in octal.
    static let fileMode = ValueParser.checked("a file mode") { _ = try FileModeText.parse($0) }

    static let requirement = ValueParser<Requirement>.requirement.map(\.description)

    static let regularExpression = ValueParser.matching("a regular expression", or: "is not a regular expression") {
        (try? Regex($0)) != nil
    }

    /// A name that is safe in label values and log lines.
    static let name = ValueParser.matching(
        "a name", or: "is not a name (1 to 64 letters, digits, dots, hyphens and underscores)"
    ) {
        $0.isWord(with: "-._") && (1...64).contains($0.utf8.count)
    }

    static let host = ValueParser.text("a host", or: "has a port; use the key \"port\"") { text in
        try Target(text).port == nil ? text : nil
    }

    static let labelledHost = ValueParser.text("a host", or: "has a port; the host label is the host name only") {
        let target = try Target($0)
        return target.port == nil ? target.host : nil
    }

    static let url = ValueParser.checked("a URL") { text in
        do throws(TaskError) { _ = try TaskRequest(url: text) } catch { throw TextError(error.underlying) }
    }

    static let checkURL = ValueParser.checked("a URL") { _ = try HTTPURL($0) }

    static let proxy = ValueParser.checked("a proxy") { _ = try Proxy($0) }

    static let proxyException = ValueParser.checked("a host") {
        try ProxyPolicy(nil, exceptions: [$0]).checkExceptions()
    }

    // No message quotes what the file has.
    static let proxyFile = ValueParser.text("an absolute path") { file in
        guard file.hasPrefix("/") else { throw TextError("\"\(file)\" is not an absolute path") }
        let proxy: String
        do throws(TextError) { proxy = try TextFile.secret(in: file) } catch { throw TextError("\(file) \(error)") }
        guard (try? Proxy(proxy)) != nil else {
            throw TextError("\(file) has no proxy SCHEME://USER:PASSWORD@HOST:PORT")
        }
        return proxy
    }

    static let pin = ValueParser.checked("a pin") { _ = try CertificatePin($0) }

    static let digest = ValueParser.text("a SHA-256") { try ContentDigest(parsing: $0).description }

    static let method = ValueParser.matching("a method", or: "is not a method (such as GET or POST)") {
        HTTPRequest.Method($0) != nil && $0 == $0.uppercased()
    }
}

extension ValueParser where Value: LosslessStringConvertible & Comparable {
    static func number(in range: ClosedRange<Value>) -> ValueParser {
        let expected = Value.self == Int.self ? "a whole number" : "a number"
        return .text(expected) { text in
            guard let number = Value(text) else { throw TextError("expected \(expected), found \"\(text)\"") }
            guard range.contains(number) else {
                throw TextError(
                    number < range.lowerBound
                        ? "\(text) is below the minimum of \(range.lowerBound)"
                        : "\(text) is above the maximum of \(range.upperBound)")
            }
            return number
        }.described(
            by: .init("type", .string(Value.self == Int.self ? "integer" : "number")),
            .init("minimum", .optional(Double("\(range.lowerBound)"))),
            .init("maximum", .optional(Double("\(range.upperBound)"))))
    }
}

extension ValueParser<Double> {
    /// `10%`, as a fraction.
    static let percentage = ValueParser.text("a percentage", or: "is not a percentage from 0% to 100%") { text in
        guard text.hasSuffix("%"), let number = Double(text.dropLast()), (0...100).contains(number) else { return nil }
        // 99.9 % is 0.999, not a neighbour of it.
        return (number * 1e10).rounded() / 1e12
    }
}

extension ValueParser<DurationText> {
    /// A duration that may be `inf`.
    static let limit = ValueParser.text("a duration") { try DurationText(parsing: $0) }
}

extension ValueParser<Duration?> {
    /// A duration that may be `inf`, which becomes nil.
    static let limit = ValueParser<DurationText>.limit.map(\.duration)
}

extension ValueParser<Duration> {
    /// A finite duration of at least `shortest`.
    static func duration(atLeast shortest: Duration) -> ValueParser {
        .text("a duration") { text in
            guard let duration = try DurationText(parsing: text).duration else { throw TextError("must be finite") }
            guard duration >= shortest else {
                throw TextError("\(text) is below the minimum of \(DurationText(shortest))")
            }
            return duration
        }
    }
}

extension ValueParser<Requirement> {
    static let requirement = ValueParser.text("a requirement") { try RequirementText.parse($0) }
}

extension ValueParser<IPAddress> {
    /// An address that represents the internet: globally routable, not on this host or link.
    static func sentinel(_ family: AddressFamily) -> ValueParser {
        .text("an address", or: "is not an \(family == .ipv4 ? "IPv4" : "IPv6") address") { text in
            guard let address = IPAddress(text), address.family == family else { return nil }
            guard !address.isLoopback, !address.isLinkLocal, !address.isMulticast, !address.isUnspecified else {
                throw TextError("\"\(address)\" is not a routable address")
            }
            return address
        }
    }
}

extension ValueParser<Bool> {
    private static let meanings = [
        "true": true, "yes": true, "on": true, "y": true, "false": false, "no": false, "off": false, "n": false,
    ]

    /// The meaning of a word of YAML 1.1, which Go's decoders also take; nil for any other text.
    static func truth(of text: String) -> Bool? { Self.meanings[text.lowercased()] }

    static let boolean = ValueParser.text("true or false") { text in
        guard let value = Self.truth(of: text) else {
            throw TextError("expected true or false, found \"\(text)\"")
        }
        return value
    }.described(by: .init("type", .string("boolean")))
}

extension ValueParser<UInt32> {
    /// A packet mark as iproute2 writes it: decimal, or hexadecimal with the prefix 0x.
    static let mark = ValueParser.text("a mark", or: "is not a firewall mark (such as 51820 or 0xca6c)") {
        $0.hasPrefix("0x") ? UInt32($0.dropFirst(2), radix: 16) : UInt32($0)
    }

    /// A user id; the largest number means "no user" (chown(2)).
    static let userID = ValueParser.text("a user id", or: "is not a user id") {
        UInt32($0).flatMap { $0 < .max ? $0 : nil }
    }
}

extension ValueParser<UInt16> {
    static let port = ValueParser.text("a port", or: "is not a port from 1 to 65535") {
        UInt16($0).flatMap { $0 > 0 ? $0 : nil }
    }
}

extension ValueParser<ByteText> {
    /// A count of bytes.
    static func size(in range: ClosedRange<Int64>) -> ValueParser {
        .text("a size") { text in
            let size = try ByteText(parsing: text)
            guard range.contains(size.bytes) else {
                throw TextError(
                    size.bytes < range.lowerBound
                        ? "\(text) is below the minimum of \(ByteText(range.lowerBound))"
                        : "\(text) is above the maximum of \(ByteText(range.upperBound))")
            }
            return size
        }
    }
}

extension ValueParser<Int> {
    /// A count of bytes.
    static func size(in range: ClosedRange<Int64>) -> ValueParser {
        ValueParser<ByteText>.size(in: range).map { Int($0.bytes) }
    }
}

extension ValueParser where Value: CaseIterable & RawRepresentable<String> {
    /// One of the enumeration's raw values.
    static var name: ValueParser { .oneOf(Value.allCases.map(\.rawValue)) { Value(rawValue: $0) } }
}

extension ValueParser {
    static func oneOf(_ names: [String], _ value: @escaping @Sendable (String) -> Value?) -> ValueParser {
        let list = names.joined(separator: ", ")
        return .text("one of \(list)", or: "is not one of \(list)") { names.contains($0) ? value($0) : nil }
            .described(by: .init("enum", .texts(names)))
    }
}

extension StringProtocol {
    /// True if every character is an ASCII letter, a digit or one of `others`.
    func isWord(with others: String) -> Bool {
        self.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "0"..."9", "A"..."Z", "a"..."z": true
            default: others.unicodeScalars.contains(scalar)
            }
        }
    }

    /// True for a valid Prometheus label name; names that begin with two underscores are reserved.
    var isLabelName: Bool {
        self.isWord(with: "_") && self.first?.isNumber == false && !self.hasPrefix("__")
    }
}
