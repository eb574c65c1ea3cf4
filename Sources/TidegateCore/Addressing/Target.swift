internal import Glibc

/// A destination: a host name or an address, with an optional port.
public struct Target: Sendable, Hashable, CustomStringConvertible {
    /// A host name in lower case without a final dot, or the canonical text of an address.
    ///
    /// A name with letters beyond ASCII is in its encoded form, as the DNS, TLS and HTTP have it (RFC 5890).
    public let host: String
    /// The port, 1 to 65535; nil if only the host matters.
    public let port: UInt16?
    /// The address, if the host is one.
    package let address: IPAddress?
    /// The name as it was typed; nil if ``host`` is the same.
    private let typedHost: String?

    /// A target from parts already known to be good.
    public init(address: IPAddress, port: UInt16? = nil) {
        self.host = address.description
        self.port = port
        self.address = address
        self.typedHost = nil
    }

    /// Parses `HOST`, `HOST:PORT`, `ADDRESS`, `[IPV6]` or `[IPV6]:PORT`.
    ///
    /// - Parameter zone: The index of the interface that an IPv6 zone names; nil if it names none.
    /// - Throws: ``TargetError``, which quotes the part that is wrong.
    public init(_ text: String, zone: (String) -> UInt32? = Target.index(ofZone:)) throws(TargetError) {
        let text = try Target.numberingZone(of: text, by: zone)
        let (host, port) = try Target.split(text)
        let address = IPAddress(host)
        self.port = if let port { try Target.parsePort(port, of: text) } else { nil }
        self.address = address
        self.host = if let address { address.description } else { try Target.normalise(host, of: text) }
        self.typedHost = host.utf8.allSatisfy { $0 < 0x80 } ? nil : Target.withoutFinalDot(host)
    }

    /// The host for display: as it was typed, if it has letters beyond ASCII.
    package var shownHost: String { self.typedHost ?? self.host }

    /// `HOST`, `HOST:PORT` or `[IPV6]:PORT`, for display.
    public var description: String { self.text(of: self.shownHost) }

    /// `HOST`, `HOST:PORT` or `[IPV6]:PORT`, for the wire.
    package var encoded: String { self.text(of: self.host) }

    private func text(of host: String) -> String {
        guard let port = self.port else { return host }
        return self.address?.family == .ipv6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Two targets are equal however their host was typed.
    public static func == (left: Target, right: Target) -> Bool { left.host == right.host && left.port == right.port }

    /// Hashes host and port.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.host)
        hasher.combine(self.port)
    }

    /// The index of the interface that a zone names: the zone itself if it is a number, else that of the interface of
    /// this host with that name (if_nametoindex(3)); nil if there is no such interface.
    public static func index(ofZone name: String) -> UInt32? {
        let index = unsafe UInt32(name) ?? if_nametoindex(name)
        return index == 0 ? nil : index
    }

    // RFC 4007 11: ADDRESS%ZONE; the zone ends with the text or with the bracket around the address.
    private static func numberingZone(
        of text: String, by zone: (String) -> UInt32?
    ) throws(TargetError) -> String {
        guard let percent = text.utf8.firstIndex(of: UInt8(ascii: "%")) else { return text }
        let start = text.hasPrefix("[") ? text.index(after: text.startIndex) : text.startIndex
        guard start <= percent, IPAddress(String(text[start..<percent]))?.family == .ipv6 else { return text }
        let name = text[text.index(after: percent)...].prefix { $0 != "]" }
        guard let index = zone(String(name)), index > 0 else { throw .badZone(String(name), of: text) }
        return "\(text[...percent])\(index)\(text[name.endIndex...])"
    }

    private static func split(_ text: String) throws(TargetError) -> (host: String, port: Substring?) {
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { throw .unclosedBracket(text) }
            let host = String(text[text.index(after: text.startIndex)..<close])
            guard host.utf8.contains(UInt8(ascii: ":")), IPAddress(host) != nil else { throw .notAnIPv6Address(host) }
            let rest = text[text.index(after: close)...]
            if rest.isEmpty { return (host, nil) }
            guard rest.hasPrefix(":") else { throw .trailing(String(rest), of: text) }
            return (host, rest.dropFirst())
        }
        if IPAddress(text) != nil { return (text, nil) }
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return (text, nil) }
        return (String(text[..<colon]), text[text.index(after: colon)...])
    }

    private static func parsePort(_ digits: Substring, of text: String) throws(TargetError) -> UInt16 {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(digits), port > 0
        else { throw .badPort(String(digits), of: text) }
        return port
    }

    // RFC 1123 2.1, with the underscore that service names use.
    private static func normalise(_ host: String, of text: String) throws(TargetError) -> String {
        let encoded = host.utf8.allSatisfy { $0 < 0x80 } ? host : try InternationalName.encode(host)
        let name = Target.withoutFinalDot(encoded)
        guard !name.isEmpty else { throw .noHost(text) }
        guard name.utf8.count <= 253 else { throw .badName(host) }
        for label in name.split(separator: ".", omittingEmptySubsequences: false) {
            guard (1...63).contains(label.utf8.count), label.first != "-", label.last != "-",
                label.utf8.allSatisfy(self.isNameByte)
            else { throw .badName(host) }
        }
        guard !name.lowercased().split(separator: ".").allSatisfy(self.isNumber) else { throw .badAddress(host) }
        return name.lowercased()
    }

    // inet_aton(3), and libcurl with it, takes numbers in decimal and hexadecimal for the octets of an IPv4 address.
    private static func isNumber(_ label: Substring) -> Bool {
        let digits = label.hasPrefix("0x") ? label.dropFirst(2) : label
        return digits.utf8.allSatisfy {
            (48...57).contains($0) || (digits.startIndex != label.startIndex && (97...102).contains($0))
        }
    }

    private static func withoutFinalDot(_ host: String) -> String {
        host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
    }

    func withDefaultPort(_ port: UInt16) -> Target {
        guard self.port == nil else { return self }
        if let address = self.address { return Target(address: address, port: port) }
        return (try? Target("\(self.shownHost):\(port)")) ?? self
    }
}

/// What is wrong with a target's text; every case quotes the offending part.
public enum TargetError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no host in the text.
    case noHost(String)
    /// `[` without `]`.
    case unclosedBracket(String)
    /// The text in brackets is not an IPv6 address.
    case notAnIPv6Address(String)
    /// The text after the closing bracket is not `:PORT`.
    case trailing(String, of: String)
    /// The port is not a number from 1 to 65535.
    case badPort(String, of: String)
    /// The zone of an IPv6 address names no interface.
    case badZone(String, of: String)
    /// The name is not a host name.
    case badName(String)
    /// The name has characters beyond ASCII that no host name has (RFC 5892).
    case notEncodable(String)
    /// The host consists of numbers only, but is not an address.
    case badAddress(String)

    /// One sentence without a final full stop.
    public var description: String {
        switch self {
        case .noHost(let text): "\"\(text)\" names no host"
        case .unclosedBracket(let text): "\"\(text)\" opens a bracket and never closes it"
        case .notAnIPv6Address(let text): "\"\(text)\" is not an IPv6 address"
        case .trailing(let rest, let text): "\"\(rest)\" after the bracket in \"\(text)\" is not a port"
        case .badPort(let port, let text):
            "\"\(port)\" in \"\(text)\" is not a port from 1 to 65535"
                + (port.contains("/") ? "; as a URL it is https://\(text)" : "")
        case .badZone(let zone, let text): "the zone \"\(zone)\" in \"\(text)\" names no interface"
        case .badName(let name): "\"\(name)\" is not a host name"
        case .notEncodable(let name): "\"\(name)\" has characters that no host name has"
        case .badAddress(let text): "\"\(text)\" is not an IPv4 address"
        }
    }
}
