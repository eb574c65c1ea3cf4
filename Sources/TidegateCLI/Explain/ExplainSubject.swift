internal import ArgumentParser
internal import Glibc
internal import Tidegate

/// What `explain` was asked about: a host, a host with a port, or a URL.
struct ExplainSubject: Sendable, Hashable {
    /// As it was written, user information left out.
    let text: String
    let target: Target
    /// The URL; nil where a host was given.
    let url: String?

    /// Parses `HOST`, `HOST:PORT` or an http or https URL; the error quotes the part that is wrong.
    init(_ text: String) throws {
        guard let marker = text.firstRange(of: "://") else {
            self.text = text
            self.target = try TargetText.parse(text, of: nil)
            self.url = nil
            return
        }
        let scheme = text[..<marker.lowerBound].lowercased()
        guard let port = ["http": 80, "https": 443][scheme] as UInt16? else {
            throw ValidationError(
                "\"\(text[..<marker.lowerBound])\" in \"\(text)\" is not a scheme to explain: write http or https")
        }
        let rest = text[marker.upperBound...].prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        guard !host.isEmpty else { throw ValidationError("\"\(text)\" names no host") }
        let target = try TargetText.parse(String(host), of: nil)
        // Without brackets nobody can tell the last group from a port (RFC 3986 3.2.2).
        guard target.address?.family != .ipv6 || host.hasPrefix("[") else {
            throw ValidationError("\"\(host)\" in \"\(text)\" has to stand in brackets: [\(host)]")
        }
        self.target = target.port == nil ? try TargetText.parse("\(target.bracketed):\(port)", of: nil) : target
        let url = "\(scheme)://\(host)\(rest[authority.endIndex...])"
        do throws(TaskError) {
            _ = try TaskRequest(url: url.replacingZone(with: ""))
        } catch {
            throw ValidationError(error.underlying)
        }
        self.text = url
        self.url = url
    }
}

/// Reads targets as people write them: an IPv6 zone may be the name of an interface.
enum TargetText {
    /// The target; `option` stands before the sentence where one is named.
    static func parse(_ text: String, of option: String?) throws -> Target {
        do {
            return try Target(text, zone: self.zone)
        } catch {
            throw ValidationError(option.map { "\($0): \(error)" } ?? error.description)
        }
    }

    /// The index of the interface that `name` names, by its name or its number; nil where there is none.
    static func zone(_ name: String) -> UInt32? {
        if let number = UInt32(name) {
            var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
            return if_indextoname(number, &buffer) == nil ? nil : number
        }
        let index = if_nametoindex(name)
        return index == 0 ? nil : index
    }
}

extension Target {
    /// The host as it stands before `:PORT`.
    var bracketed: String { self.address?.family == .ipv6 ? "[\(self.host)]" : self.host }
}

extension String {
    // URLs carry no zone on the wire (RFC 9844).
    fileprivate func replacingZone(with other: String) -> String {
        guard let percent = self.firstIndex(of: "%"), let close = self[percent...].firstIndex(of: "]"),
            self[..<percent].contains("["), !self[..<percent].contains("]")
        else { return self }
        return self[..<percent] + other + self[close...]
    }
}
