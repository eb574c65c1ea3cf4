internal import HTTPTypes
internal import Tidegate
internal import TidegateCore

/// Reads a value from a node.
struct ValueParser<Value: Sendable>: Sendable {
    let parse: @Sendable (ConfigurationNode) throws(TextError) -> Value

    /// The same value as an optional.
    var optional: ValueParser<Value?> {
        let parse = self.parse
        return ValueParser<Value?> { node throws(TextError) in try parse(node) }
    }

    /// A value that is written as a scalar; `expected` is for messages, such as "a duration".
    static func text(
        _ expected: String, _ parse: @escaping @Sendable (String) throws(TextError) -> Value
    ) -> ValueParser {
        ValueParser { node throws(TextError) in
            guard case .scalar(let text) = node.content else {
                throw TextError("expected \(expected), found \(node.summary)")
            }
            return try parse(text)
        }
    }
}

extension ValueParser<String> {
    static let text = ValueParser.text("a string") { text throws(TextError) in text }

    static func nonEmpty(_ what: String) -> ValueParser {
        .text("a \(what)") { text throws(TextError) in
            guard !text.allSatisfy(\.isWhitespace) else { throw TextError("the \(what) is empty") }
            return text
        }
    }

    static let absolutePath = ValueParser.text("a path") { text throws(TextError) in
        guard text.hasPrefix("/"), !text.hasSuffix("/"), !text.contains("\0") else {
            throw TextError("\"\(text)\" is not an absolute file path")
        }
        return text
    }

    /// Permission bits in octal.
    static let fileMode = ValueParser.text("a file mode") { text throws(TextError) in
        _ = try FileModeText.parse(text)
        return text
    }

    static let requirement = ValueParser.text("a requirement") { text throws(TextError) in
        try RequirementText.parse(text).description
    }

    static let regularExpression = ValueParser.text("a regular expression") { text throws(TextError) in
        do {
            _ = try Regex(text)
            return text
        } catch {
            throw TextError("\"\(text)\" is not a regular expression")
        }
    }

    /// A name that is safe in a label value and in a log line.
    static let name = ValueParser.text("a name") { text throws(TextError) in
        let isPlain = text.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        guard isPlain, (1...64).contains(text.utf8.count) else {
            throw TextError("\"\(text)\" is not a name (1 to 64 letters, digits, dots, hyphens and underscores)")
        }
        return text
    }

    static let host = ValueParser.text("a host") { text throws(TextError) in
        do {
            guard try Target(text).port == nil else {
                throw TextError("\"\(text)\" has a port; use the key \"port\"")
            }
            return text
        } catch let error as TextError {
            throw error
        } catch {
            throw TextError("\(error)")
        }
    }

    static let url = ValueParser.text("a URL") { text throws(TextError) in
        do throws(TaskError) {
            _ = try TaskRequest(url: text)
            return text
        } catch {
            throw TextError(error.underlying)
        }
    }

    static let proxy = ValueParser.text("a proxy") { text throws(TextError) in
        do throws(ProxyError) {
            _ = try Proxy(text)
            return text
        } catch {
            throw TextError(error.description)
        }
    }

    static let pin = ValueParser.text("a pin") { text throws(TextError) in
        _ = try CertificatePin(text)
        return text
    }

    static let digest = ValueParser.text("a SHA-256") { text throws(TextError) in
        guard let digest = ContentDigest(text) else {
            throw TextError("\"\(text)\" is not a SHA-256 digest (64 hexadecimal digits)")
        }
        return digest.description
    }

    static let checkURL = ValueParser.text("a URL") { text throws(TextError) in
        do throws(ConfigurationValueError) {
            _ = try InternetCheckURL(text)
            return text
        } catch {
            throw TextError(error.problem)
        }
    }

    static let method = ValueParser.text("a method") { text throws(TextError) in
        guard HTTPRequest.Method(text) != nil, text == text.uppercased() else {
            throw TextError("\"\(text)\" is not a method (such as GET or POST)")
        }
        return text
    }

    static let labelledHost = ValueParser.text("a host") { text throws(TextError) in
        do throws(TargetError) {
            let target = try Target(text)
            if target.port == nil { return target.host }
        } catch {
            throw TextError(error.description)
        }
        throw TextError("\"\(text)\" has a port; the host label is the host name only")
    }

    static let path = ValueParser.text("a path") { text throws(TextError) in
        guard !text.isEmpty, !text.hasSuffix("/") else { throw TextError("\"\(text)\" is not a file path") }
        return text
    }
}

extension ValueParser where Value: LosslessStringConvertible & Comparable {
    static func number(in range: ClosedRange<Value>) -> ValueParser {
        let expected = Value.self == Int.self ? "a whole number" : "a number"
        return .text(expected) { text throws(TextError) in
            guard let number = Value(text) else { throw TextError("expected \(expected), found \"\(text)\"") }
            guard range.contains(number) else {
                let isBelow = number < range.lowerBound
                throw TextError(
                    "\(text) is "
                        + (isBelow
                            ? "below the minimum of \(range.lowerBound)" : "above the maximum of \(range.upperBound)"))
            }
            return number
        }
    }
}

extension ValueParser<Double> {
    /// `10%`, as a fraction.
    static let percentage = ValueParser.text("a percentage") { text throws(TextError) in
        guard text.hasSuffix("%"), let number = Double(text.dropLast()), (0...100).contains(number) else {
            throw TextError("\"\(text)\" is not a percentage from 0% to 100%")
        }
        return number / 100
    }
}

extension ValueParser<DurationText> {
    /// A duration that may be `inf`.
    static let limit = ValueParser.text("a duration") { text throws(TextError) in try DurationText(parsing: text) }
}

extension ValueParser<Duration> {
    /// A finite duration of at least `shortest`.
    static func duration(atLeast shortest: Duration) -> ValueParser {
        .text("a duration") { text throws(TextError) in
            guard let duration = try DurationText(parsing: text).duration else {
                throw TextError("must be finite")
            }
            guard duration >= shortest else {
                throw TextError("\(text) is below the minimum of \(DurationText(shortest))")
            }
            return duration
        }
    }
}

extension ValueParser<Requirement> {
    static let requirement = ValueParser.text("a requirement") { text throws(TextError) in
        try RequirementText.parse(text)
    }
}

extension ValueParser<IPAddress> {
    static func address(_ family: AddressFamily) -> ValueParser {
        .text("an address") { text throws(TextError) in
            guard let address = IPAddress(text), address.family == family else {
                throw TextError("\"\(text)\" is not an \(family == .ipv4 ? "IPv4" : "IPv6") address")
            }
            return address
        }
    }
}

extension ValueParser<IPAddress> {
    /// An address that stands for the internet: globally routable, not of this host or link.
    static func sentinel(_ family: AddressFamily) -> ValueParser {
        let address = ValueParser.address(family)
        return ValueParser { node throws(TextError) in
            let value = try address.parse(node)
            guard !value.isLoopback, !value.isLinkLocal, !value.isMulticast, !value.isUnspecified else {
                throw TextError("\"\(value)\" is not a routable address")
            }
            return value
        }
    }
}

extension ValueParser<IPPrefix> {
    /// A network, or an address that stands for itself.
    static let network = ValueParser.text("a network") { text throws(TextError) in
        try IPPrefix(parsing: text)
    }
}

extension ValueParser<Bool> {
    static let boolean = ValueParser.text("true or false") { text throws(TextError) in
        switch text {
        case "true": true
        case "false": false
        default: throw TextError("expected true or false, found \"\(text)\"")
        }
    }
}

extension ValueParser<UInt32> {
    /// A packet mark as iproute2 writes it: decimal, or hexadecimal after 0x.
    static let mark = ValueParser.text("a mark") { text throws(TextError) in
        let number = text.hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
        guard let number else { throw TextError("\"\(text)\" is not a firewall mark (such as 51820 or 0xca6c)") }
        return number
    }

    /// A user id; the largest number means no user (chown(2)).
    static let userID = ValueParser.text("a user id") { text throws(TextError) in
        guard let number = UInt32(text), number < .max else {
            throw TextError("\"\(text)\" is not a user id")
        }
        return number
    }
}

extension ValueParser<UInt16> {
    static let port = ValueParser.text("a port") { text throws(TextError) in
        guard let port = UInt16(text), port > 0 else { throw TextError("\"\(text)\" is not a port from 1 to 65535") }
        return port
    }
}

extension ValueParser<ByteText> {
    /// A count of bytes.
    static func size(in range: ClosedRange<Int64>) -> ValueParser {
        .text("a size") { text throws(TextError) in
            let size = try ByteText(parsing: text)
            guard range.contains(size.bytes) else {
                let isBelow = size.bytes < range.lowerBound
                let bound = ByteText(isBelow ? range.lowerBound : range.upperBound)
                throw TextError("\(text) is \(isBelow ? "below the minimum" : "above the maximum") of \(bound)")
            }
            return size
        }
    }
}

extension ValueParser where Value: CaseIterable & RawRepresentable<String> {
    /// One of the enumeration's raw values.
    static var name: ValueParser {
        let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return .text("one of \(names)") { text throws(TextError) in
            guard let value = Value(rawValue: text) else { throw TextError("\"\(text)\" is not one of \(names)") }
            return value
        }
    }
}
