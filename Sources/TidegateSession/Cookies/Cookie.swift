package import TidegateCore

/// A cookie in the form a jar keeps it (RFC 6265 5.3).
package struct Cookie: Sendable, Hashable {
    package var name: String
    package var value: String
    /// In lower case, without a leading dot.
    package var domain: String
    /// True if only ``domain`` itself receives it.
    package var isHostOnly: Bool
    package var path: String
    /// True if only https requests carry it.
    package var isSecure: Bool
    /// True if a page's scripts must not read it; unused here, but kept.
    package var isHTTPOnly: Bool
    /// The expiry time; nil for the end of the session.
    package var expiry: WallTime?
}

extension Cookie {
    /// Parses a `Set-Cookie` field; nil if it must be ignored.
    ///
    /// A single-label domain, a public suffix or an address cannot be shared: only the host itself receives the cookie.
    package init?(_ field: String, from url: HTTPURL, at now: WallTime) {
        guard field.utf8.count <= 4096, field.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            return nil
        }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { return nil }
        self.name = pair[..<equals].trimmingOptionalWhitespace
        self.value = pair[pair.index(after: equals)...].trimmingOptionalWhitespace
        self.domain = url.target.host
        self.isHostOnly = true
        self.path = Self.defaultPath(of: url)
        (self.isSecure, self.isHTTPOnly) = (false, false)
        guard !self.name.isEmpty else { return nil }
        var hasAge = false
        for part in parts.dropFirst() {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = halves.count > 1 ? halves[1].trimmingOptionalWhitespace : ""
            switch halves[0].trimmingOptionalWhitespace.lowercased() {
            case "domain": guard self.take(domain: value, of: url.target) else { return nil }
            case "path": if value.hasPrefix("/") { self.path = value }
            case "secure": self.isSecure = true
            case "httponly": self.isHTTPOnly = true
            case "max-age":
                guard let seconds = Self.age(value) else { continue }
                hasAge = true
                self.expiry = WallTime(microseconds: now.microseconds + seconds * 1_000_000)
            case "expires": if !hasAge, let end = CookieDate.parse(value) { self.expiry = end }
            default: break
            }
        }
        // Tabs separate the fields of a cookie file.
        guard ![self.name, self.value, self.path].contains(where: { $0.utf8.contains(0x09) }) else { return nil }
        guard self.keepsItsPromises(url) else { return nil }
    }

    // RFC 6265 5.2.3; false if the server may not set the domain.
    private mutating func take(domain text: String, of target: Target) -> Bool {
        let name = (text.hasPrefix(".") ? String(text.dropFirst()) : text).lowercased()
        guard !name.isEmpty, name != target.host else { return true }
        guard target.address == nil, name.contains("."), !name.hasSuffix("."), target.host.hasSuffix(".\(name)"),
            !PublicSuffix.contains(name)
        else { return false }
        (self.domain, self.isHostOnly) = (name, false)
        return true
    }

    // Checks the requirements of name prefixes, and that plain HTTP does not set a cookie for https (RFC 6265bis 4.1.3,
    // 5.7).
    private func keepsItsPromises(_ url: HTTPURL) -> Bool {
        if self.isSecure, url.scheme != .https { return false }
        let name = self.name.lowercased()
        if name.hasPrefix("__secure-"), !self.isSecure { return false }
        return !name.hasPrefix("__host-") || self.isSecure && self.isHostOnly && self.path == "/"
    }

    // A huge number means no expiry.
    private static func age(_ text: String) -> Int64? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let limit: Int64 = 400 * 86_400
        return text.hasPrefix("-") ? 0 : min(Int64(text) ?? limit, limit)
    }

    // RFC 6265 5.1.4.
    private static func defaultPath(of url: HTTPURL) -> String {
        guard let slash = url.path.lastIndex(of: "/"), slash > url.path.startIndex else { return "/" }
        return String(url.path[..<slash])
    }

    // MARK: - Use

    /// True if a request to this URL carries it.
    func isFor(_ url: HTTPURL) -> Bool {
        guard !self.isSecure || url.scheme == .https else { return false }
        let host = url.target.host
        guard host == self.domain || !self.isHostOnly && host.hasSuffix(".\(self.domain)") else { return false }
        guard url.path.hasPrefix(self.path) else { return false }
        return self.path.hasSuffix("/") || url.path.count == self.path.count
            || url.path.dropFirst(self.path.count).hasPrefix("/")
    }

    /// True if this and another cookie replace each other.
    func isSame(as other: Cookie) -> Bool {
        self.name == other.name && self.domain == other.domain && self.path == other.path
            && self.isHostOnly == other.isHostOnly
    }
}

/// Cookie dates, parsed as leniently as browsers do (RFC 6265 5.1.1).
package enum CookieDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    package static func parse(_ text: String) -> WallTime? {
        var (time, day, month, year): ([Int]?, Int?, Int?, Int?)
        for token in text.split(whereSeparator: { !($0.isLetter || $0.isNumber || $0 == ":") }) {
            let clock = token.split(separator: ":").compactMap { Int($0) }
            if time == nil, clock.count == 3, token.contains(":") {
                time = clock
            } else if day == nil, token.count <= 2, let number = Int(token) {
                day = number
            } else if month == nil, let place = self.months.firstIndex(of: token.prefix(3).lowercased()) {
                month = place + 1
            } else if year == nil, (2...4).contains(token.count), let number = Int(token) {
                year = number < 70 ? number + 2000 : number < 100 ? number + 1900 : number
            }
        }
        guard let time, let day, let month, let year, (1601...9999).contains(year), (1...31).contains(day),
            (0...23).contains(time[0]), (0...59).contains(time[1]), (0...59).contains(time[2])
        else { return nil }
        let date = CivilDate(year: Int64(year), month: Int64(month), day: Int64(day))
        let seconds = date.daysSince1970 * 86_400 + Int64(time[0] * 3600 + time[1] * 60 + time[2])
        return WallTime(microseconds: seconds * 1_000_000)
    }
}
