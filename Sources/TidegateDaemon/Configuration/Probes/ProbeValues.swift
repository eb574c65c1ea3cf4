internal import HTTPTypes
internal import TidegateCEL
internal import TidegateCore
internal import TidegateProbes

// The value formats of modules.

extension ValueParser<RegularExpression> {
    static let pattern = ValueParser.text("a regular expression") { try RegularExpression($0) }
}

extension ValueParser<CELExpression> {
    static let expression = ValueParser.text("an expression") { text in
        try Result { try CELExpression(text, variable: "body") }
            .mapError { TextError("\"\(text)\" is not a CEL expression: \($0)") }.get()
    }
}

extension ValueParser<AddressFamily> {
    /// Every word but `ip6` means IPv4 to blackbox_exporter, whose default an empty text is.
    static let ipProtocol = ValueParser.text("ip4 or ip6", or: "is not ip4 or ip6") {
        ["ip6", ""].contains($0) ? AddressFamily.ipv6 : ["ip4", "ipv4"].contains($0.lowercased()) ? .ipv4 : nil
    }
}

extension ValueParser<BodyCoding?> {
    /// An empty text means that bodies are used as received.
    static let bodyCoding = ValueParser.text("a compression") { text in
        guard !text.isEmpty else { return nil }
        guard let coding = BodyCoding(rawValue: text.lowercased()) else {
            let names = BodyCoding.allCases.map(\.rawValue).joined(separator: ", ")
            throw TextError("\"\(text)\" is not one of \(names)")
        }
        return coding
    }
}

extension ValueParser<Int?> {
    /// A size such as `10MB`, in units of powers of 1024 with or without an i; 0 means no limit.
    static let base2Bytes = ValueParser.text("a size") { text in
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units = ["": 0, "B": 0, "KB": 1, "MB": 2, "GB": 3, "TB": 4, "KIB": 1, "MIB": 2, "GIB": 3, "TIB": 4]
        guard let number = Int(digits), let power = units[text.dropFirst(digits.count).uppercased()] else {
            throw TextError("\"\(text)\" is not a size such as 10MB")
        }
        let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: 1 << (10 * power))
        guard !isTooLarge else { throw TextError("\"\(text)\" is too large") }
        return bytes == 0 ? nil : bytes
    }
}

extension ValueParser<HeaderCondition> {
    private struct Keys: Sendable {
        var name: HTTPField.Name?
        var pattern: RegularExpression?
        var allowsMissing = false
    }

    private static let fields: [Field<Keys>] = [
        .value(
            "header", \.name,
            ValueParser<HTTPField.Name>.text("the name of a header field", or: "is not the name of a header field") {
                HTTPField.Name($0)
            }),
        .value("regexp", \.pattern, .pattern),
        .value("allow_missing", \.allowsMissing, .boolean),
    ]

    static let headerCondition = ValueParser { node throws(TextError) in
        var (keys, problems) = (Keys(), ProblemList())
        problems.read(Self.fields, from: node, into: &keys)
        if let problem = problems.entries.first {
            throw TextError("\(problem.key.map { $0.dropFirst(node.path.count + 1) + ": " } ?? "")\(problem.message)")
        }
        guard let name = keys.name else { throw TextError("missing key \"header\"") }
        guard let pattern = keys.pattern else { throw TextError("missing key \"regexp\"") }
        return HeaderCondition(name: name, pattern: pattern, allowsMissing: keys.allowsMissing)
    }.described(by: .init("type", .string("object")))
}

extension ValueParser<ProbeModule.Prober> {
    static let prober = ValueParser.text("a prober") { text in
        let probers: [ProbeModule.Prober] = [.http(), .icmp(), .dns(), .tcp(), .unix(), .grpc(), .websocket()]
        guard let prober = probers.first(where: { $0.name == text }) else {
            throw TextError("unknown prober \"\(text)\"")
        }
        return prober
    }
}

extension ValueParser<ProbeTargetPolicy.Entry> {
    static let probeTarget = ValueParser.text("a network or a host name", or: "is neither a network nor a host name") {
        text in
        if IPAddress(String(text.prefix { $0 != "/" })) != nil { return .network(try IPPrefix(parsing: text)) }
        guard text.isWord(with: "*-._"), !text.isEmpty else { return nil }
        // Hosts are compared without the trailing dot of the root.
        return .host((text.hasSuffix(".") && text.count > 1 ? text.dropLast() : text[...]).lowercased())
    }
}

extension ValueParser<TLSVersion> {
    static let tlsVersion = ValueParser.text(
        "a TLS version", or: "is not a TLS version (TLS10, TLS11, TLS12 or TLS13)"
    ) {
        TLSVersion(rawValue: $0)
    }
}

extension ValueParser<IPAddress?> {
    /// An address of this host; blackbox_exporter treats an empty text as none.
    static let sourceAddress = ValueParser.text("an address") { text in
        guard !text.isEmpty else { return nil }
        guard let address = IPAddress(text) else { throw TextError("\"\(text)\" is not an IP address") }
        return address
    }
}

extension ValueParser<String?> {
    /// The name or address that a certificate must be valid for; an empty text means none.
    static let serverName = ValueParser.text("a host") { text in
        guard !text.isEmpty else { return nil }
        let target = try Target(text)
        guard target.port == nil else { throw TextError("\"\(text)\" has a port, which certificates do not cover") }
        // Without the trailing dot of the root, which neither handshakes nor certificates contain.
        return target.host
    }

    /// The path of a file; an empty text means none.
    static let optionalPath = ValueParser.text("a path") { text in
        guard !text.hasSuffix("/") else { throw TextError("\"\(text)\" is not a file path") }
        return text.isEmpty ? nil : text
    }

    /// A proxy; an empty text means none.
    static let optionalProxy = ValueParser.text("a proxy") { text in
        guard !text.isEmpty else { return nil }
        _ = try Proxy(text)
        return text
    }
}

extension ValueParser<String> {
    /// A method in the letters of the file; an empty text means GET.
    static let sentMethod = ValueParser.text("a method", or: "is not a method (such as GET or POST)") {
        $0.isEmpty ? "GET" : HTTPRequest.Method($0) == nil ? nil : $0
    }

    /// An interface name, at most IFNAMSIZ - 1 bytes long.
    static let interface = ValueParser.matching("the name of an interface", or: "is not the name of an interface") {
        (1...15).contains($0.utf8.count) && !$0.contains { $0 == "/" || $0.isWhitespace }
    }

    static let queryName = ValueParser.text("a name", or: "cannot be a name in the DNS") { text in
        guard !text.isEmpty else {
            throw TextError("the query name must not be empty; the root is \".\"")
        }
        return DNSProbeOptions.isName(text) ? text : nil
    }

    static let recordType = ValueParser.text("a type of records", or: "is not a type of records such as A or MX") {
        $0.isEmpty ? "ANY" : DNSProbeOptions.isRecordType($0) ? $0 : nil
    }

    static let recordClass = ValueParser.text("a class of records", or: "is not a class of records such as IN or CH") {
        $0.isEmpty ? "IN" : DNSProbeOptions.isRecordClass($0) ? $0 : nil
    }
}

extension ValueParser<RegularExpression?> {
    /// A regular expression; an empty one means nothing is expected.
    static let expectation = ValueParser.text("a regular expression") { $0.isEmpty ? nil : try RegularExpression($0) }
}

extension ValueParser<Bool> {
    /// A feature that WebSocket connections lack, so it can only be switched off.
    static let off = ValueParser.off(or: "WebSocket connections do not support this")

    /// False only; true is refused as `problem`.
    static func off(or problem: String) -> ValueParser {
        ValueParser { node throws(TextError) in
            guard try !ValueParser.boolean.parse(node) else { throw TextError(problem) }
            return false
        }.described(by: .init("enum", [false]))
    }
}
