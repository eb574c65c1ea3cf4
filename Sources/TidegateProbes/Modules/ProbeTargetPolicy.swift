package import TidegateCore

/// Which targets may be probed; applies to names, to their addresses, and to targets of redirects.
package struct ProbeTargetPolicy: Sendable, Hashable {
    /// The targets that an entry covers.
    package enum Entry: Sendable, Hashable {
        /// Every address in a network.
        case network(IPPrefix)
        /// Names in lower case; `*` matches any characters, including dots.
        case host(String)
    }

    /// The targets that may be probed; empty for all.
    package var allow: [Entry]
    /// The targets that may not be probed, even if ``allow`` lists them.
    package var deny: [Entry]
    /// Whether a server with a public address may redirect a probe to a loopback, link-local or private address.
    package var allowsPrivateRedirects = false
    /// The hosts that may receive a module's credentials, by the module's name; modules without an entry are not limited.
    package var credentials: [String: [Entry]] = [:]

    /// A policy; by default it denies link-local addresses, where clouds serve secrets.
    package init(allow: [Entry] = [], deny: [Entry] = ProbeTargetPolicy.linkLocal) {
        self.allow = allow
        self.deny = deny
    }

    /// 169.254.0.0/16 and fe80::/10 (RFC 3927, RFC 4291), and the other addresses of metadata services.
    package static let linkLocal: [Entry] =
        [("169.254.0.0", 16), ("fe80::", 10)]
        .compactMap { text, length in
            IPAddress(text).flatMap { IPPrefix($0, length: length) }.map(Entry.network)
        } + IPAddress.metadata.compactMap { IPPrefix($0, length: $0.family.bits).map(Entry.network) }

    /// Why a host must not be probed, as one clause; nil if it may be.
    ///
    /// `address` is the host's address; nil if only a proxy knows it, so that no network matches.
    package func refusal(of host: String, at address: IPAddress?) -> String? {
        let addresses = address?.equivalents ?? []
        func matches(_ entry: Entry) -> Bool { entry.matches(host, at: addresses) }
        let shown = address.map { "\($0)" } ?? host
        let subject = host == shown ? host : "\(host) (\(shown))"
        if let entry = self.deny.first(where: matches) {
            return "\(subject) must not be probed: probe_targets.deny has \(entry)"
        }
        guard self.allow.isEmpty || self.allow.contains(where: matches) else {
            return "\(subject) must not be probed: probe_targets.allow has nothing that fits it"
        }
        return nil
    }
}

extension ProbeTargetPolicy.Entry {
    /// True for a host that matches by name or by one of these addresses.
    func matches(_ host: String, at addresses: [IPAddress]) -> Bool {
        switch self {
        case .network(let network): addresses.contains { network.contains($0) }
        case .host(let pattern): Self.matches(pattern.utf8[...], host.lowercased().utf8[...])
        }
    }

    // Takes one pass over the parts between the stars, so that no pattern is slow.
    private static func matches(_ pattern: Substring.UTF8View, _ text: Substring.UTF8View) -> Bool {
        let parts = pattern.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.dropFirst().last else { return pattern.elementsEqual(text) }
        guard text.starts(with: first) else { return false }
        var rest = text.dropFirst(first.count)
        // The first match of a part leaves the most text for the parts after it.
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let place = rest.firstRange(of: part) else { return false }
            rest = rest[place.upperBound...]
        }
        return rest.suffix(last.count).elementsEqual(last)
    }
}

extension ProbeTargetPolicy.Entry: CustomStringConvertible {
    package var description: String {
        switch self {
        case .network(let prefix): prefix.description
        case .host(let pattern): pattern
        }
    }
}

/// Decides whether a request to a target may contain a module's credentials, or may have side effects.
struct CredentialPolicy: Sendable, Hashable {
    /// The module's name.
    var module: String
    /// True if the request contains credentials.
    var hasCredentials: Bool
    /// True if the request uses a safe method (RFC 9110 9.2.1).
    var isSafe: Bool
    /// The hosts that `probe_credentials` lists for the module; nil if it does not list the module.
    var hosts: [ProbeTargetPolicy.Entry]?
    /// The ports on which this process listens.
    var ownPorts: Set<UInt16> = []

    /// Why a request must not go to a target, as one clause; nil if it may.
    func refusal(of target: Target, at address: IPAddress?, _ verdict: Verdict) -> String? {
        let addresses = address?.equivalents ?? []
        if self.hasCredentials, let hosts, !hosts.contains(where: { $0.matches(target.host, at: addresses) }) {
            return "the credentials of module \(self.module) must not go to \(target.host): "
                + "probe_credentials does not name it"
        }
        guard self.hasCredentials || !self.isSafe, let port = target.port, self.ownPorts.contains(port),
            addresses.contains(where: \.isLoopback) || verdict.notes.contains(.thisHost) || target.host == "localhost"
        else { return nil }
        let what = self.hasCredentials ? "the credentials of module \(self.module)" : "requests that change something"
        return "\(what) must not go to port \(port) of this host, on which tidegate itself listens"
    }
}

extension IPAddress {
    /// The addresses that lead to the same host.
    ///
    /// An IPv4 address may be written in an IPv6 form, and Linux treats the unspecified address as loopback.
    fileprivate var equivalents: [IPAddress] {
        let forms = [self.withoutZone, self.embeddedIPv4].compactMap(\.self)
        return forms + forms.compactMap(\.loopbackAlias)
    }

    /// The loopback address that 0.0.0.0/8 and :: stand for; nil for others.
    fileprivate var loopbackAlias: IPAddress? {
        switch self.family {
        case .ipv4: self.octets[0] == 0 ? IPAddress(ipv4: 0x7F00_0001) : nil
        case .ipv6: self.isUnspecified ? IPAddress("::1") : nil
        }
    }
}
