internal import Synchronization
package import TidegateCore

/// The cookies of a session (RFC 6265), in memory; a program that keeps them reads and writes them as text.
///
/// libcurl's own cookie engine does not fit: every hop is a separate attempt, its handle also serves other tasks, and
/// the engine would write its file on the thread of all transfers.
///
/// A server cannot set a cookie for a public suffix such as `co.uk` or `github.io`; a server on such a host only
/// receives its own cookies.
public final class CookieJar: Sendable {
    private struct State {
        /// Each with a serial number: of otherwise equal cookies the older one is sent first.
        var entries: [(cookie: Cookie, number: Int)] = []
        var lastNumber = 0
    }

    /// The maximum number of cookies per domain and in total; the oldest are removed.
    private static let (perDomain, inAll) = (50, 3000)

    private let state = Mutex(State())

    /// Creates an empty jar.
    public init() {}

    /// Creates a jar with the cookies of a file in Netscape's format, as curl(1) writes it.
    ///
    /// Malformed lines and cookies for all hosts of a public suffix are ignored.
    public convenience init(netscape text: String) {
        self.init()
        // Only at line feeds: a cookie's value may contain other characters that Unicode treats as line ends.
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if let cookie = Cookie(netscape: String(decoding: line, as: UTF8.self)) { self.put(cookie) }
        }
    }

    /// The cookies in Netscape's format; session cookies have an expiry of 0.
    public var netscapeText: String {
        let lines = self.state.withLock { $0.entries.map(\.cookie.netscapeLine) }
        return (["# Netscape HTTP Cookie File"] + lines).joined(separator: "\n") + "\n"
    }

    /// The number of cookies.
    public var count: Int { self.state.withLock { $0.entries.count } }

    /// Removes every cookie.
    public func removeAll() { self.state.withLock { $0.entries = [] } }

    // MARK: - Requests and responses

    /// The Cookie field for a request; nil if no cookie matches.
    package func field(for url: HTTPURL, at now: WallTime) -> String? {
        let entries = self.state.withLock { state in
            state.entries.removeAll { $0.cookie.expiry.map { $0 <= now } ?? false }
            return state.entries.filter { $0.cookie.isFor(url) }
        }
        guard !entries.isEmpty else { return nil }
        let sorted = entries.sorted { ($1.cookie.path.count, $0.number) < ($0.cookie.path.count, $1.number) }
        return sorted.map { "\($0.cookie.name)=\($0.cookie.value)" }.joined(separator: "; ")
    }

    /// Stores the cookies that a response sets.
    package func take(_ fields: [String], from url: HTTPURL, at now: WallTime) {
        for field in fields {
            guard let cookie = Cookie(field, from: url, at: now) else { continue }
            self.put(cookie, at: now, isFromHTTPS: url.scheme == .https)
        }
    }

    private func put(_ cookie: Cookie, at now: WallTime? = nil, isFromHTTPS: Bool = true) {
        self.state.withLock { state in
            let place = state.entries.firstIndex { $0.cookie.isSame(as: cookie) }
            // A cookie from plain HTTP never replaces one for https only (RFC 6265bis 5.7).
            if let place, state.entries[place].cookie.isSecure, !isFromHTTPS { return }
            if let end = cookie.expiry, let now, end <= now {
                if let place { state.entries.remove(at: place) }
                return
            }
            if let place { return state.entries[place].cookie = cookie }
            state.lastNumber += 1
            state.entries.append((cookie, state.lastNumber))
            if state.entries.count(where: { $0.cookie.domain == cookie.domain }) > Self.perDomain,
                let oldest = state.entries.firstIndex(where: { $0.cookie.domain == cookie.domain })
            {
                state.entries.remove(at: oldest)
            }
            if state.entries.count > Self.inAll { state.entries.removeFirst() }
        }
    }
}

extension CookieJar: Hashable {
    /// Jars are equal if they are identical.
    public static func == (left: CookieJar, right: CookieJar) -> Bool { left === right }

    /// Hashes its identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// MARK: - Netscape's format

extension Cookie {
    private static let onlyHTTP = "#HttpOnly_"

    fileprivate init?(netscape line: some StringProtocol) {
        let isHTTPOnly = line.hasPrefix(Self.onlyHTTP)
        guard isHTTPOnly || !line.hasPrefix("#") else { return nil }
        let text = isHTTPOnly ? String(line.dropFirst(Self.onlyHTTP.count)) : String(line)
        let parts = text.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 7, let end = Int64(parts[4]), !parts[5].isEmpty, parts[2].hasPrefix("/"),
            (0...253_402_300_799).contains(end)
        else { return nil }
        let domain = (parts[0].hasPrefix(".") ? String(parts[0].dropFirst()) : parts[0]).lowercased()
        guard !domain.isEmpty, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }), !parts[6].contains(";")
        else { return nil }
        let isHostOnly = parts[1].uppercased() != "TRUE"
        guard isHostOnly || !PublicSuffix.contains(domain) else { return nil }
        self.init(
            name: parts[5], value: parts[6], domain: domain, isHostOnly: isHostOnly, path: parts[2],
            isSecure: parts[3].uppercased() == "TRUE", isHTTPOnly: isHTTPOnly,
            expiry: end == 0 ? nil : WallTime(microseconds: end * 1_000_000))
    }

    fileprivate var netscapeLine: String {
        let end = self.expiry.map { $0.microseconds / 1_000_000 } ?? 0
        return (self.isHTTPOnly ? Self.onlyHTTP : "")
            + [
                self.isHostOnly ? self.domain : ".\(self.domain)", self.isHostOnly ? "FALSE" : "TRUE", self.path,
                self.isSecure ? "TRUE" : "FALSE", "\(end)", self.name, self.value,
            ].joined(separator: "\t")
    }
}
