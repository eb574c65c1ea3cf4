internal import ArgumentParser
internal import Tidegate

/// The argument of `explain`: a host, a host with a port, or a URL.
struct ExplainSubject: Sendable, Hashable {
    let target: Target
    /// The URL; nil if a host was given.
    let url: String?

    /// Parses `HOST`, `HOST:PORT` or an http or https URL; the error quotes the invalid part.
    init(_ text: String) throws {
        guard let marker = text.firstRange(of: "://") else {
            self.target = try TargetText.parse(text, of: nil)
            self.url = nil
            return
        }
        let scheme = text[..<marker.lowerBound].lowercased()
        guard let port = ["http": 80, "https": 443][scheme] as UInt16? else {
            throw ValidationError(
                "unsupported scheme \"\(text[..<marker.lowerBound])\" in \"\(text)\" (expected http or https)")
        }
        let rest = text[marker.upperBound...].prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        guard !host.isEmpty else { throw ValidationError("no host in URL \"\(text)\"") }
        let target = try TargetText.parse(String(host), of: nil)
        // Without brackets the last group could be a port (RFC 3986 3.2.2).
        guard target.address?.family != .ipv6 || host.hasPrefix("[") else {
            throw ValidationError("IPv6 address \"\(host)\" in \"\(text)\" must be in brackets: [\(host)]")
        }
        self.target = target.port == nil ? try TargetText.parse("\(target.bracketed):\(port)", of: nil) : target
        let place = target.port.map { "\(target.bracketed):\($0)" } ?? target.bracketed
        let url = "\(scheme)://\(place)\(rest[authority.endIndex...])"
        do throws(TaskError) {
            _ = try TaskRequest(url: url)
        } catch {
            throw ValidationError(error.underlying)
        }
        self.url = url
    }

    /// The argument as diagnostics take it.
    func explainTarget() throws -> ExplainTarget {
        guard let url = self.url else { return ExplainTarget(self.target) }
        return try ExplainTarget(url)
    }
}
