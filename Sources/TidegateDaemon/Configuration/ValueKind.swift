internal import TidegateCore

/// How a value is read from a node.
struct ValueKind<Value: Sendable>: Sendable {
    let parse: @Sendable (ConfigurationNode) throws(TextError) -> Value

    /// The same value as an optional.
    var optional: ValueKind<Value?> {
        let parse = self.parse
        return ValueKind<Value?> { node throws(TextError) in try parse(node) }
    }

    /// A value that is written as one text; `words` says what is expected: "a duration".
    static func text(
        _ words: String, _ parse: @escaping @Sendable (String) throws(TextError) -> Value
    ) -> ValueKind {
        ValueKind { node throws(TextError) in
            guard case .scalar(let text) = node.content else {
                throw TextError("expected \(words), found \(node.words)")
            }
            return try parse(text)
        }
    }
}

extension ValueKind<String> {
    static let text = ValueKind.text("a text") { text throws(TextError) in text }

    static let absolutePath = ValueKind.text("a path") { text throws(TextError) in
        guard text.hasPrefix("/"), !text.hasSuffix("/"), !text.contains("\0") else {
            throw TextError("\"\(text)\" is not an absolute path of a file")
        }
        return text
    }

    static let regularExpression = ValueKind.text("a regular expression") { text throws(TextError) in
        do {
            _ = try Regex(text)
            return text
        } catch {
            throw TextError("\"\(text)\" is not a regular expression")
        }
    }

    /// A name that can stand in a label and in a log line.
    static let name = ValueKind.text("a name") { text throws(TextError) in
        let isPlain = text.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        guard isPlain, (1...64).contains(text.utf8.count) else {
            throw TextError("\"\(text)\" is not a name of 1 to 64 letters, digits, dots, hyphens and underscores")
        }
        return text
    }
}

extension ValueKind<Int> {
    static func number(in range: ClosedRange<Int>) -> ValueKind {
        .text("a whole number") { text throws(TextError) in
            guard let number = Int(text) else { throw TextError("expected a whole number, found \"\(text)\"") }
            guard range.contains(number) else {
                let bound = number < range.lowerBound ? "below \(range.lowerBound)" : "above \(range.upperBound)"
                throw TextError("\(number) is \(bound)")
            }
            return number
        }
    }
}

extension ValueKind<Double> {
    /// `10%`, as a share.
    static let percentage = ValueKind.text("a percentage") { text throws(TextError) in
        guard text.hasSuffix("%"), let number = Double(text.dropLast()), (0...100).contains(number) else {
            throw TextError("\"\(text)\" is not a percentage from 0% to 100%")
        }
        return number / 100
    }

    static func number(in range: ClosedRange<Double>) -> ValueKind {
        .text("a number") { text throws(TextError) in
            guard let number = Double(text) else { throw TextError("expected a number, found \"\(text)\"") }
            guard range.contains(number) else {
                let bound = number < range.lowerBound ? "below \(range.lowerBound)" : "above \(range.upperBound)"
                throw TextError("\(text) is \(bound)")
            }
            return number
        }
    }
}

extension ValueKind<DurationText> {
    /// A duration that may be `inf`.
    static let limit = ValueKind.text("a duration") { text throws(TextError) in try DurationText(parsing: text) }
}

extension ValueKind<Duration> {
    /// A finite duration of at least `shortest`.
    static func duration(atLeast shortest: Duration) -> ValueKind {
        .text("a duration") { text throws(TextError) in
            guard let duration = try DurationText(parsing: text).duration else {
                throw TextError("inf is not possible here")
            }
            guard duration >= shortest else { throw TextError("\(text) is below \(DurationText(shortest))") }
            return duration
        }
    }
}

extension ValueKind<Requirement> {
    static let requirement = ValueKind.text("a requirement") { text throws(TextError) in
        try RequirementText.parse(text)
    }
}

extension ValueKind<IPAddress> {
    static func address(_ family: AddressFamily) -> ValueKind {
        .text("an address") { text throws(TextError) in
            guard let address = IPAddress(text), address.family == family else {
                throw TextError("\"\(text)\" is not an \(family == .ipv4 ? "IPv4" : "IPv6") address")
            }
            return address
        }
    }
}

extension ValueKind<IPAddress> {
    /// An address that stands for the internet: one of another host, wherever it is.
    static func sentinel(_ family: AddressFamily) -> ValueKind {
        let address = ValueKind.address(family)
        return ValueKind { node throws(TextError) in
            let value = try address.parse(node)
            guard !value.isLoopback, !value.isLinkLocal, !value.isMulticast, !value.isUnspecified else {
                throw TextError("\"\(value)\" is no address that other networks could route")
            }
            return value
        }
    }
}

extension ValueKind<Bool> {
    static let truth = ValueKind.text("true or false") { text throws(TextError) in
        switch text {
        case "true": true
        case "false": false
        default: throw TextError("expected true or false, found \"\(text)\"")
        }
    }
}

extension ValueKind<UInt32> {
    /// A packet mark as iproute2 writes it: decimal, or hexadecimal after 0x.
    static let mark = ValueKind.text("a mark") { text throws(TextError) in
        let number = text.hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
        guard let number else { throw TextError("\"\(text)\" is not a mark: write one like 51820 or 0xca6c") }
        return number
    }

    /// The number of a user; the largest means no user (chown(2)).
    static let userID = ValueKind.text("a user's number") { text throws(TextError) in
        guard let number = UInt32(text), number < .max else {
            throw TextError("\"\(text)\" is not the number of a user")
        }
        return number
    }
}

extension ValueKind<UInt16> {
    static let port = ValueKind.text("a port") { text throws(TextError) in
        guard let port = UInt16(text), port > 0 else { throw TextError("\"\(text)\" is not a port from 1 to 65535") }
        return port
    }

    /// Permission bits in octal.
    static let fileMode = ValueKind.text("a file mode") { text throws(TextError) in
        try FileModeText.parse(text)
    }
}
