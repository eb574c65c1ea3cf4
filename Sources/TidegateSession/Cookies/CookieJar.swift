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
    /// Malformed lines are ignored. A cookie for all hosts of a public suffix is only for the host of that name.
    public convenience init(netscape text: String) {
        self.init()
        self.add(netscape: text) { _, _ in }
    }

    /// Adds the cookies of a file in Netscape's format; of equal cookies the later one stays.
    ///
    /// `skip` receives the number of each malformed line, counted from 1, and its problem, which quotes no value.
    package func add(netscape text: String, skip: (Int, TextError) -> Void) {
        // Only at line feeds: a cookie's value may contain other characters that Unicode treats as line ends.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            do throws(TextError) {
                if let cookie = try Cookie(netscape: String(decoding: line, as: UTF8.self)) { self.put(cookie) }
            } catch {
                skip(index + 1, error)
            }
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

    /// Parses a line; nil for an empty one and a comment.
    ///
    /// - Throws: ``TextError`` for a malformed line.
    fileprivate init?(netscape line: String) throws(TextError) {
        let line = line.drop { $0 == " " }
        let isHTTPOnly = line.hasPrefix(Self.onlyHTTP)
        guard !line.isEmpty, isHTTPOnly || !line.hasPrefix("#") else { return nil }
        let text = isHTTPOnly ? line.dropFirst(Self.onlyHTTP.count) : line
        let parts = text.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        // Editors remove the tab before an empty value.
        guard (6...7).contains(parts.count) else { throw TextError("expected 7 fields, separated by tabs") }
        let domain = (parts[0].hasPrefix(".") ? String(parts[0].dropFirst()) : parts[0]).lowercased()
        let value = parts.count > 6 ? parts[6] : ""
        guard !domain.isEmpty, !parts[5].isEmpty else { throw TextError("the domain or the name is empty") }
        guard parts[2].hasPrefix("/") else { throw TextError("the path does not begin with a slash") }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }), !value.contains(";") else {
            throw TextError("a control character, or a semicolon in the value, is not allowed")
        }
        // Only the host itself is certain to be the one that set it.
        let isHostOnly = parts[1].uppercased() != "TRUE" || PublicSuffix.contains(domain)
        self.init(
            name: parts[5], value: value, domain: domain, isHostOnly: isHostOnly, path: parts[2],
            isSecure: parts[3].uppercased() == "TRUE", isHTTPOnly: isHTTPOnly,
            expiry: try Self.expiry(netscape: parts[4]))
    }

    // Seconds since 1970, which browsers export with fractions; Python leaves those of a session cookie out.
    private static func expiry(netscape text: String) throws(TextError) -> WallTime? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
            throw TextError("the expiry is not a number of seconds since 1970")
        }
        // A number that is too large, such as curl's for an endless cookie, is the end of the year 9999.
        let end = parts[0].isEmpty ? 0 : min(Int64(parts[0]) ?? .max, 253_402_300_799)
        return end == 0 ? nil : WallTime(microseconds: end * 1_000_000)
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
