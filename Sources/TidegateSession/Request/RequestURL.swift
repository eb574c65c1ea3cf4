internal import TidegateCore

/// An http or https URL in the parts that a request needs (RFC 3986).
///
/// One object for all who ask for it: its texts are written once and not for every attempt.
final class RequestURL: Sendable {
    /// The schemes that are spoken.
    enum Scheme: String, Sendable {
        case http, https

        var port: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            }
        }
    }

    let scheme: Scheme
    /// `USER` or `USER:PASSWORD` as written; nil without.
    let userInfo: String?
    /// Host and port; the port is always there.
    let target: Target
    /// The path, from its slash.
    let path: String
    /// The query without its question mark; nil without.
    let query: String?
    /// Scheme, host and port: what shares a budget, a gate and credentials.
    let origin: Origin
    /// The URL as it is requested: without user information and fragment.
    let text: String
    /// The URL as it is told: without user information, query and fragment.
    let textWithoutQuery: String

    /// What is wrong with a URL's text.
    struct Problem: Error, Hashable, CustomStringConvertible {
        let description: String
    }

    convenience init(_ text: String) throws(Problem) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Problem(description: "\"\(RequestURL.printable(text))\" has a space or a control character in it")
        }
        guard let colon = text.firstRange(of: "://"),
            let scheme = Scheme(rawValue: text[..<colon.lowerBound].lowercased())
        else { throw Problem(description: "\"\(text)\" is not an http:// or https:// URL") }
        let rest = text[colon.upperBound...].prefix { $0 != "#" }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<end]
        let at = authority.lastIndex(of: "@")
        let host = at.map { authority[authority.index(after: $0)...] } ?? authority
        let (path, query) = RequestURL.split(rest[end...])
        self.init(
            scheme: scheme, userInfo: at.map { String(authority[..<$0]) },
            target: try RequestURL.target(host, scheme: scheme, of: text),
            path: RequestURL.encoded(path.isEmpty ? "/" : path), query: query.map(RequestURL.encoded))
    }

    private init(scheme: Scheme, userInfo: String?, target: Target, path: String, query: String?) {
        self.scheme = scheme
        self.userInfo = userInfo
        self.target = target
        self.path = path
        self.query = query
        self.origin = Origin(scheme: scheme, target: target)
        self.textWithoutQuery = "\(scheme.rawValue)://\(RequestURL.authority(target, scheme))\(path)"
        self.text = self.textWithoutQuery + (query.map { "?\($0)" } ?? "")
    }

    // HOST or HOST:PORT as the Host header writes it.
    private static func authority(_ target: Target, _ scheme: Scheme) -> String {
        guard target.port == scheme.port else { return target.description }
        return target.address?.family == .ipv6 ? "[\(target.host)]" : target.host
    }

    /// The URL that a `Location` header means, seen from this one (RFC 3986 5.2).
    func following(_ location: String) throws(Problem) -> RequestURL {
        let firstPart = location.prefix { !"/?#".contains($0) }
        if firstPart.contains(":") { return try RequestURL(location) }
        if location.hasPrefix("//") { return try RequestURL("\(self.scheme.rawValue):\(location)") }
        let bare = location.prefix { $0 != "#" }
        guard bare.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Problem(description: "the server redirects to a URL with a space or a control character in it")
        }
        if bare.isEmpty { return self }
        let (path, query) = RequestURL.split(bare)
        let whole: String
        if path.isEmpty {
            whole = self.path
        } else if path.hasPrefix("/") {
            whole = RequestURL.withoutDots(path)
        } else {
            let folder = self.path[...(self.path.lastIndex(of: "/") ?? self.path.startIndex)]
            whole = RequestURL.withoutDots(String(folder) + path)
        }
        return RequestURL(
            scheme: self.scheme, userInfo: self.userInfo, target: self.target, path: RequestURL.encoded(whole),
            query: query.map(RequestURL.encoded))
    }

    private static func split(_ text: Substring) -> (path: String, query: String?) {
        guard let mark = text.firstIndex(of: "?") else { return (String(text), nil) }
        return (String(text[..<mark]), String(text[text.index(after: mark)...]))
    }

    private static func target(_ text: Substring, scheme: Scheme, of url: String) throws(Problem) -> Target {
        do {
            let target = try Target(text.hasSuffix(":") ? String(text.dropLast()) : String(text))
            return target.port == nil ? target.with(port: scheme.port) : target
        } catch {
            throw Problem(description: "\"\(url)\" names no host that can be asked: \(error)")
        }
    }

    // Characters beyond ASCII go as the bytes of their UTF-8; everything else is taken as it was written.
    private static func encoded(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        return text.utf8.reduce(into: "") { result, byte in
            if byte < 0x80 {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    /// Text with its `%XX` turned into bytes.
    static func decoded(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func withoutDots(_ path: String) -> String {
        var kept: [Substring] = []
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (position, part) in parts.enumerated() {
            let isLast = position == parts.count - 1
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

    private static func printable(_ text: String) -> String {
        String(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : Character($0) })
    }
}

/// Scheme, host and port.
final class Origin: Sendable, Hashable {
    let scheme: RequestURL.Scheme
    let target: Target
    // Origins are looked up several times for each attempt: their text is hashed once.
    private let fingerprint: Int

    init(scheme: RequestURL.Scheme, target: Target) {
        self.scheme = scheme
        self.target = target
        var hasher = Hasher()
        hasher.combine(scheme)
        hasher.combine(target)
        self.fingerprint = hasher.finalize()
    }

    static func == (left: Origin, right: Origin) -> Bool {
        left === right
            || (left.fingerprint == right.fingerprint && left.scheme == right.scheme && left.target == right.target)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(self.fingerprint) }
}

extension Target {
    fileprivate func with(port: UInt16) -> Target {
        if let address = self.address { return Target(address: address, port: port) }
        return (try? Target("\(self.host):\(port)")) ?? self
    }
}
