package import TidegateCore

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

    /// The file of this host; one that is missing or cannot be read counts as empty.
    package static func system() -> HostsFile { HostsFile(parsing: SystemFiles.text("/etc/hosts") ?? "") }
}
