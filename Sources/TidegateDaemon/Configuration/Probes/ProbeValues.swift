internal import HTTPTypes
internal import TidegateCEL
internal import TidegateCore
internal import TidegateProbes
internal import TidegateRegex

// How modules write their values.

extension ValueParser<RegularExpression> {
    static let pattern = ValueParser.text("a regular expression") { text throws(TextError) in
        do throws(RegularExpressionError) {
            return try RegularExpression(text)
        } catch {
            throw TextError(error.description)
        }
    }
}

extension ValueParser<CELExpression> {
    static let expression = ValueParser.text("an expression") { text throws(TextError) in
        do throws(CELError) {
            return try CELExpression(text, variable: "body")
        } catch {
            throw TextError("\"\(text)\" is no expression of CEL: \(error)")
        }
    }
}

extension ValueParser<HTTPURL> {
    static let tokenURL = ValueParser.text("a URL") { text throws(TextError) in
        do throws(HTTPURLError) { return try HTTPURL(text) } catch { throw TextError("\(error)") }
    }
}

extension ValueParser<AddressFamily> {
    static let ipProtocol = ValueParser.text("ip4 or ip6") { text throws(TextError) in
        switch text {
        case "ip4": .ipv4
        // blackbox_exporter takes an empty text for its default.
        case "ip6", "": .ipv6
        default: throw TextError("\"\(text)\" is not ip4 or ip6")
        }
    }
}

extension ValueParser<BodyCoding> {
    static let bodyCoding = ValueParser.text("a compression") { text throws(TextError) in
        guard let coding = BodyCoding(rawValue: text.lowercased()) else {
            let names = BodyCoding.allCases.map(\.rawValue).joined(separator: ", ")
            throw TextError("\"\(text)\" is not one of \(names)")
        }
        return coding
    }
}

extension ValueParser<Int?> {
    /// A size whose units are powers of 1024, with or without an i: `10MB`; 0 is no limit.
    static let base2Bytes = ValueParser.text("a size") { text throws(TextError) in
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
        .value("header", \.name, .headerName), .value("regexp", \.pattern, .pattern),
        .value("allow_missing", \.allowsMissing, .boolean),
    ]

    static let headerCondition = ValueParser { node throws(TextError) in
        var (keys, problems) = (Keys(), ProblemList(file: ""))
        problems.read(Self.fields, from: node, into: &keys)
        if let problem = problems.entries.first {
            throw TextError("\(problem.key.map { $0.dropFirst(node.path.count + 1) + ": " } ?? "")\(problem.message)")
        }
        guard let name = keys.name else { throw TextError("missing key \"header\"") }
        guard let pattern = keys.pattern else { throw TextError("missing key \"regexp\"") }
        return HeaderCondition(name: name, pattern: pattern, allowsMissing: keys.allowsMissing)
    }
}

extension ValueParser<HTTPField.Name> {
    fileprivate static let headerName = ValueParser.text("the name of a header field") { text throws(TextError) in
        guard let name = HTTPField.Name(text) else { throw TextError("\"\(text)\" is not the name of a header field") }
        return name
    }
}

extension ValueParser<ProbeModule.Prober> {
    static let prober = ValueParser.text("a prober") { text throws(TextError) in
        guard let prober = ProbeModule.Prober(rawValue: text) else {
            throw TextError("there is no prober \"\(text)\"")
        }
        return prober
    }
}

extension ValueParser<ProbeTargetPolicy.Entry> {
    static let probeTarget = ValueParser.text("a network or a host name") { text throws(TextError) in
        if IPAddress(String(text.prefix { $0 != "/" })) != nil { return .network(try IPPrefix(parsing: text)) }
        let isName = text.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        guard isName, !text.isEmpty else { throw TextError("\"\(text)\" is neither a network nor a host name") }
        // Hosts are compared without the dot of the root.
        return .host((text.hasSuffix(".") && text.count > 1 ? text.dropLast() : text[...]).lowercased())
    }
}

extension ValueParser<TLSVersion> {
    static let tlsVersion = ValueParser.text("a TLS version") { text throws(TextError) in
        let names = ["TLS10": TLSVersion.v1_0, "TLS11": .v1_1, "TLS12": .v1_2, "TLS13": .v1_3]
        guard let version = names[text] else {
            throw TextError("\"\(text)\" is not a TLS version (TLS10, TLS11, TLS12 or TLS13)")
        }
        return version
    }
}

extension ValueParser<IPAddress?> {
    /// An address of this host; blackbox_exporter takes an empty text for none.
    static let sourceAddress = ValueParser.text("an address") { text throws(TextError) in
        guard !text.isEmpty else { return nil }
        guard let address = IPAddress(text) else { throw TextError("\"\(text)\" is not an IP address") }
        return address
    }
}

extension ValueParser<String?> {
    /// The name of an interface, as Linux allows it: IFNAMSIZ less one bytes.
    static let interface = ValueParser.text("the name of an interface") { text throws(TextError) in
        guard (1...15).contains(text.utf8.count), !text.contains(where: { $0 == "/" || $0.isWhitespace }) else {
            throw TextError("\"\(text)\" is not the name of an interface")
        }
        return text
    }

    /// The name or the address that a certificate has to be for; an empty text is none.
    static let serverName = ValueParser.text("a host") { text throws(TextError) in
        guard !text.isEmpty else { return nil }
        let target: Target
        do throws(TargetError) { target = try Target(text) } catch { throw TextError("\(error)") }
        guard target.port == nil else { throw TextError("\"\(text)\" has a port, which certificates are not for") }
        // Without the dot of the root, which neither handshakes nor certificates have.
        return target.host
    }
}

extension ValueParser<DNSProbeOptions.Transport> {
    static let dnsTransport = ValueParser.text("udp or tcp") { text throws(TextError) in
        // blackbox_exporter takes an empty text for its default.
        guard let transport = DNSProbeOptions.Transport(rawValue: text.isEmpty ? "udp" : text) else {
            throw TextError("\"\(text)\" is not udp or tcp")
        }
        return transport
    }
}

extension ValueParser<String> {
    static let queryName = ValueParser.text("a name") { text throws(TextError) in
        guard !text.isEmpty else {
            throw TextError("the name that is asked about must not be empty; the root is \".\"")
        }
        guard DNSProbeOptions.isName(text) else { throw TextError("\"\(text)\" cannot be a name in the DNS") }
        return text
    }

    static let recordType = ValueParser.text("a type of records") { text throws(TextError) in
        guard !text.isEmpty else { return "ANY" }
        guard DNSProbeOptions.isRecordType(text) else {
            throw TextError("\"\(text)\" is not a type of records such as A or MX")
        }
        return text
    }

    static let recordClass = ValueParser.text("a class of records") { text throws(TextError) in
        guard !text.isEmpty else { return "IN" }
        guard DNSProbeOptions.isRecordClass(text) else {
            throw TextError("\"\(text)\" is not a class of records such as IN or CH")
        }
        return text
    }
}

extension ValueParser<Int> {
    static let responseCode = ValueParser.text("a response code") { text throws(TextError) in
        guard let code = DNSProbeOptions.code(of: text) else {
            throw TextError("\"\(text)\" is not a response code such as NOERROR or NXDOMAIN")
        }
        return code
    }
}

extension ValueParser<RegularExpression?> {
    /// A regular expression; an empty one expects nothing.
    static let expectation = ValueParser.text("a regular expression") { text throws(TextError) in
        guard !text.isEmpty else { return nil }
        do throws(RegularExpressionError) {
            return try RegularExpression(text)
        } catch {
            throw TextError(error.description)
        }
    }
}

extension ValueParser<Bool> {
    /// What a WebSocket connection does not have can be switched off only.
    static let off = ValueParser { node throws(TextError) in
        guard try !ValueParser.boolean.parse(node) else { throw TextError("a WebSocket connection does not have that") }
        return false
    }
}
