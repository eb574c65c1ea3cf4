/// An absolute http or https URL in its parts (RFC 3986), parsed once.
///
/// A reference, because a request hands it on to each of its attempts and its texts are made once.
package final class HTTPURL: Sendable, Hashable, CustomStringConvertible {
    /// The schemes that a request can have.
    package enum Scheme: String, Sendable, Hashable {
        case http, https

        /// The port of a URL that names none.
        package var port: UInt16 { self == .http ? 80 : 443 }
    }

    /// Scheme, host and port.
    package let origin: Origin
    /// `USER` or `USER:PASSWORD` as written; nil without.
    package let userInfo: String?
    /// The path, from its slash.
    package let path: String
    /// The query without its question mark; nil without.
    package let query: String?
    /// The URL for the request: without user information and fragment.
    package let text: String
    /// The URL as logs and events show it: without user information, query and fragment.
    package let textWithoutQuery: String

    package var scheme: Scheme { self.origin.scheme }
    /// Host and port; the port is always present.
    package var target: Target { self.origin.target }
    /// Path and query, as the request line has them.
    package var requestTarget: String { self.path + (self.query.map { "?\($0)" } ?? "") }

    /// Parses `http://[USER[:PASSWORD]@]HOST[:PORT][/PATH][?QUERY][#FRAGMENT]`.
    ///
    /// - Parameter zone: See ``Target/init(_:zone:)``.
    package convenience init(_ text: String, zone: (String) -> UInt32? = Target.index(ofZone:)) throws(HTTPURLError) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { throw .character(text) }
        // By bytes, which takes a tenth of the time that characters take.
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text.utf8[colon...].starts(with: "://".utf8),
            let scheme = Scheme(rawValue: text[..<colon].lowercased())
        else { throw .scheme(text) }
        let afterColon = text[colon...].utf8.dropFirst(3)
        let rest = text[afterColon.startIndex..<(afterColon.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex)]
        let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = rest[..<end]
        let at = authority.utf8.lastIndex(of: UInt8(ascii: "@"))
        let host = at.map { authority[authority.index(after: $0)...] } ?? authority
        let (path, query) = HTTPURL.split(rest[end...])
        self.init(
            origin: Origin(scheme: scheme, target: try HTTPURL.target(host, scheme: scheme, of: text, zone: zone)),
            userInfo: at.map { String(authority[..<$0]) }, path: path.isEmpty ? "/" : path, query: query)
    }

    /// Like ``init(_:zone:)``, but quicker for a URL of the same server as another one: most lists have few servers.
    package convenience init(_ text: String, near other: HTTPURL) throws(HTTPURLError) {
        let known = other.textWithoutQuery.utf8.prefix(other.textWithoutQuery.utf8.count - other.path.utf8.count)
        guard other.userInfo == nil, text.utf8.starts(with: known),
            let start = text.utf8.index(text.startIndex, offsetBy: known.count, limitedBy: text.endIndex),
            start < text.endIndex, [UInt8(ascii: "/"), UInt8(ascii: "?")].contains(text.utf8[start]),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else {
            try self.init(text)
            return
        }
        let end = text.utf8[start...].firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let (path, query) = HTTPURL.split(text[start..<end])
        self.init(origin: other.origin, userInfo: nil, path: path.isEmpty ? "/" : path, query: query)
    }

    /// The root of a host; a target without a port gets the scheme's.
    package convenience init(scheme: Scheme, target: Target) {
        self.init(
            origin: Origin(scheme: scheme, target: target.withDefaultPort(scheme.port)), userInfo: nil, path: "/",
            query: nil)
    }

    private init(origin: Origin, userInfo: String?, path: String, query: String?) {
        self.origin = origin
        self.userInfo = userInfo
        self.path = HTTPURL.percentEncoded(path)
        self.query = query.map(HTTPURL.percentEncoded)
        let (shown, sent) = (origin.shownAuthority, origin.authority)
        self.textWithoutQuery = "\(origin.scheme.rawValue)://\(shown)\(self.path)"
        let base = shown == sent ? self.textWithoutQuery : "\(origin.scheme.rawValue)://\(sent)\(self.path)"
        self.text = base + (self.query.map { "?\($0)" } ?? "")
    }

    /// The same path and query at another host.
    package func at(_ target: Target) -> HTTPURL {
        HTTPURL(
            origin: Origin(scheme: self.scheme, target: target.withDefaultPort(self.scheme.port)),
            userInfo: self.userInfo, path: self.path, query: self.query)
    }

    /// The user and password in the URL; nil without.
    package var credentials: Credentials? {
        guard let userInfo = self.userInfo else { return nil }
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return Credentials(
            user: HTTPURL.percentDecoded(parts[0]), password: parts.count > 1 ? HTTPURL.percentDecoded(parts[1]) : "")
    }

    /// The URL that a `Location` field means, seen from this one (RFC 3986 5.2).
    ///
    /// A space, which servers leave unescaped, stands for `%20`.
    package func resolving(_ location: String) throws(HTTPURLError) -> HTTPURL {
        let location = location.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "%20")
        let firstPart = location.prefix { !"/?#".contains($0) }
        if firstPart.contains(":") { return try HTTPURL(location) }
        if location.hasPrefix("//") { return try HTTPURL("\(self.scheme.rawValue):\(location)") }
        let reference = location.prefix { $0 != "#" }
        guard reference.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { throw .character(location) }
        if reference.isEmpty { return self }
        let (path, query) = HTTPURL.split(reference)
        let resolved: String
        if path.isEmpty {
            resolved = self.path
        } else if path.hasPrefix("/") {
            resolved = HTTPURL.removingDotSegments(path)
        } else {
            let directory = self.path[...(self.path.lastIndex(of: "/") ?? self.path.startIndex)]
            resolved = HTTPURL.removingDotSegments(String(directory) + path)
        }
        return HTTPURL(origin: self.origin, userInfo: self.userInfo, path: resolved, query: query)
    }

    private static func split(_ text: Substring) -> (path: String, query: String?) {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (String(text), nil) }
        return (String(text[..<mark]), String(text[text.utf8.index(after: mark)...]))
    }

    private static func target(
        _ authority: Substring, scheme: Scheme, of url: String, zone: (String) -> UInt32?
    ) throws(HTTPURLError) -> Target {
        let text = String(authority.hasSuffix(":") ? authority.dropLast() : authority)
        do throws(TargetError) {
            guard text.hasPrefix("["), text.contains("%25") else {
                return try Target(text, zone: zone).withDefaultPort(scheme.port)
            }
            do throws(TargetError) {
                // RFC 6874: the % before a zone is escaped, and so are characters within it.
                return try Target(HTTPURL.percentDecoded(text), zone: zone).withDefaultPort(scheme.port)
            } catch {
                // Many programs take a zone in a URL as RFC 4007 writes it.
                guard let target = try? Target(text, zone: zone) else { throw error }
                return target.withDefaultPort(scheme.port)
            }
        } catch {
            throw .target(error, in: url)
        }
    }

    // Characters beyond ASCII go as the bytes of their UTF-8; everything else stays as written.
    private static func percentEncoded(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        return text.utf8.reduce(into: "") { result, byte in
            if byte < 0x80 {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    /// A text whose `%` escapes are bytes of UTF-8 (RFC 3986 2.1); other text stays.
    package static func percentDecoded(_ text: some StringProtocol) -> String {
        String(decoding: PercentEncoding.decode(text), as: UTF8.self)
    }

    private static func removingDotSegments(_ path: String) -> String {
        var kept: [Substring] = []
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(part)
            }
        }
        return "/" + kept.joined(separator: "/")
    }

    /// Two URLs are equal if their requests are, including user information, which becomes a field of its own.
    package static func == (left: HTTPURL, right: HTTPURL) -> Bool {
        left === right || (left.text == right.text && left.userInfo == right.userInfo)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.text) }

    /// The URL for display, with its query, without the zone of an address, which only this host can interpret (RFC
    /// 9844).
    package var description: String {
        guard let address = self.target.address, address.zone != 0 else {
            return self.textWithoutQuery + (self.query.map { "?\($0)" } ?? "")
        }
        let target = Target(address: address.withoutZone, port: self.target.port)
        let authority = Origin(scheme: self.scheme, target: target).authority
        return "\(self.scheme.rawValue)://\(authority)\(self.requestTarget)"
    }
}

/// Why a text is not a URL that can be requested.
package enum HTTPURLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// It has a space or a control character in it.
    case character(String)
    /// Its scheme is neither http nor https, or it has none.
    case scheme(String)
    /// Its host or its port is wrong.
    case target(TargetError, in: String)

    /// One clause without a final full stop.
    package var description: String {
        switch self {
        case .character(let text):
            let printable = text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : Character($0) }
            return "\"\(Self.shown(String(printable)))\" has a space or a control character in it"
        case .scheme(let text): return "\"\(Self.shown(text))\" is not an http:// or https:// URL"
        case .target(let error, let text): return "\"\(Self.shown(text))\" names no host that can be asked: \(error)"
        }
    }

    // Of a text with an @ only the part after the last one, which may be a password, and no query.
    private static func shown(_ text: String) -> String {
        let bare = text[(text.lastIndex(of: "@") ?? text.startIndex)...].prefix { $0 != "?" }
        guard bare.first == "@" else { return String(bare) }
        let scheme = text.firstRange(of: "://").map { text[..<$0.upperBound] } ?? ""
        return scheme + "…" + bare
    }
}
