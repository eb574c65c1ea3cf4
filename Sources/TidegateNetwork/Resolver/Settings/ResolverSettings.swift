internal import CNetlink
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// The settings in resolv.conf(5), parsed by glibc's rules.
package struct ResolverSettings: Sendable, Hashable {
    /// The servers in order: at most three; 127.0.0.1 if the file lists none.
    package var nameservers: [IPAddress] = [IPAddress(ipv4: 0x7F00_0001)]
    /// True if the file lists no server, so that only this host itself is queried.
    package var namesNoServer = false
    /// True if the file could not be opened for lack of a descriptor.
    package var isUnread = false
    /// The servers that systemd-resolved uses, if ``nameservers`` has its stub; empty otherwise.
    package var upstreams: [IPAddress] = []
    /// The domains to append to a short name, in order.
    package var search: [String] = []
    /// A name with at least as many dots is first tried unchanged, 0 to 15.
    package var ndots = 1
    /// True if programs ask over TCP only (`use-vc`).
    package var usesTCP = false

    /// The settings without a file.
    package init() {}

    /// Parses a resolv.conf; unknown lines are ignored, as glibc does.
    ///
    /// `zone` returns the index of a link by its name, for `nameserver fe80::1%eth0`; for an unknown name the address
    /// has no zone.
    package init(parsing text: String, zone: (String) -> UInt32? = { _ in nil }) {
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) { self.read(Substring(line)) }
        let found = ResolverSettings.nameservers(in: text, zone: zone).prefix(3)
        if found.isEmpty { self.namesNoServer = true } else { self.nameservers = Array(found) }
    }

    /// The settings in force on this host, from ``ResolverFiles``.
    package static func system() -> ResolverSettings { ResolverFiles().read() }

    /// The servers that finally answer: the upstream servers instead of systemd-resolved's stub.
    package var finalServers: [IPAddress] {
        guard !self.upstreams.isEmpty else { return self.nameservers }
        return self.upstreams + self.nameservers.filter { !ResolverSettings.stubs.contains($0) }
    }

    /// True if the servers include systemd-resolved's stub: 127.0.0.53 or 127.0.0.54 (systemd-resolved.service(8)).
    package var hasStub: Bool { self.nameservers.contains(where: ResolverSettings.stubs.contains) }

    private static let stubs: Set = [IPAddress(ipv4: 0x7F00_0035), IPAddress(ipv4: 0x7F00_0036)]

    /// The full names to try for `name`, in order: unchanged, and in each domain of the search list.
    package func candidates(for name: String) -> [String] {
        guard !name.hasSuffix("."), !self.search.isEmpty else { return [name] }
        let dots = name.utf8.count { $0 == UInt8(ascii: ".") }
        let longer = self.search.map { $0 == "." ? name : "\(name).\($0)" }
        return dots >= self.ndots ? [name] + longer : longer + [name]
    }

    // MARK: One line

    /// The addresses of all `nameserver` lines.
    static func nameservers(in text: String, zone: (String) -> UInt32?) -> [IPAddress] {
        text.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let rest = self.rest(of: Substring(line), after: "nameserver") else { return nil }
            return self.tokens(rest).first.flatMap { self.address($0, zone: zone) }
        }
    }

    // A keyword counts only at the start of a line and before a blank, so comments need no special handling.
    private static func rest(of line: Substring, after keyword: String) -> Substring? {
        guard line.utf8.starts(with: keyword.utf8) else { return nil }
        let rest = line.utf8.dropFirst(keyword.utf8.count)
        guard let first = rest.first, self.isBlank(first) else { return nil }
        return Substring(rest)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func tokens(_ text: Substring) -> [String] {
        text.utf8.split(whereSeparator: self.isBlank).map { String(Substring($0)) }
    }

    private mutating func read(_ line: Substring) {
        if let rest = ResolverSettings.rest(of: line, after: "domain") {
            if let domain = ResolverSettings.tokens(rest).first { self.search = [domain] }
        } else if let rest = ResolverSettings.rest(of: line, after: "search") {
            let domains = ResolverSettings.tokens(rest)
            if !domains.isEmpty { self.search = domains }
        } else if let rest = ResolverSettings.rest(of: line, after: "options") {
            for option in ResolverSettings.tokens(rest) { self.readOption(option) }
        }
    }

    private mutating func readOption(_ option: String) {
        if option == "use-vc" { self.usesTCP = true }
        let parts = option.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "ndots" else { return }
        self.ndots = min(max(strtol(String(parts[1]), nil, 10), 0), 15)
    }

    private static func address(_ word: String, zone: (String) -> UInt32?) -> IPAddress? {
        if let bits = self.ipv4Bits(word) { return IPAddress(ipv4: bits) }
        let parts = word.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])), address.family == .ipv6 else { return nil }
        guard parts.count == 2 else { return address }
        let name = String(parts[1])
        return IPAddress(octets: address.octets, zone: (address.isLinkLocal ? zone(name) : nil) ?? UInt32(name) ?? 0)
    }

    // Accepts short forms (`127.1`, `0x7f000001`), as glibc does (inet_aton(3)).
    private static func ipv4Bits(_ word: String) -> UInt32? {
        var bits = in_addr()
        guard word.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), inet_aton(word, &bits) != 0 else { return nil }
        return UInt32(bigEndian: bits.s_addr)
    }
}

/// The files with the resolver's settings.
package struct ResolverFiles: Sendable, Hashable {
    /// The file that glibc reads.
    package var configuration = "/etc/resolv.conf"
    /// The file in which systemd-resolved lists the servers behind its stub.
    package var upstreams = "/run/systemd/resolve/resolv.conf"
    /// The file that is consulted before any server.
    package var hosts = "/etc/hosts"

    /// The paths on this system.
    package init() {}

    var all: [String] { [self.configuration, self.upstreams, self.hosts] }

    /// Reads the settings; a missing or unreadable file counts as empty.
    package func read() -> ResolverSettings {
        let text = SystemFiles.text(self.configuration)
        var settings = ResolverSettings(parsing: text ?? "", zone: NetworkInterface.index)
        settings.isUnread = text == nil && DescriptorShortage.isNow()
        if settings.hasStub {
            let text = SystemFiles.text(self.upstreams) ?? ""
            settings.upstreams = ResolverSettings.nameservers(in: text, zone: NetworkInterface.index)
        }
        return settings
    }
}

/// The addresses in hosts(5), by name in lower case.
package struct HostsFile: Sendable, Hashable {
    /// The addresses of every name, in the file's order.
    package var addresses: [String: [IPAddress]] = [:]

    /// Parses a hosts file; lines without an address at their start are ignored, as glibc does.
    package init(parsing text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            let fields = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
            guard let first = fields.first, let address = IPAddress(String(first)) else { continue }
            for name in fields.dropFirst() { self.addresses[name.lowercased(), default: []].append(address) }
        }
    }

    /// Reads this host's file; a missing or unreadable file counts as empty.
    package static func system() -> HostsFile { HostsFile(parsing: SystemFiles.text("/etc/hosts") ?? "") }
}
