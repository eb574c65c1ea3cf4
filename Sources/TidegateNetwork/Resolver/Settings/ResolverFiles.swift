internal import Glibc

/// The files with the resolver's settings.
package struct ResolverFiles: Sendable, Hashable {
    /// The file that glibc reads.
    package var configuration: String
    /// The file in which systemd-resolved lists the servers behind its stub.
    package var upstreams: String

    /// The paths that every distribution uses, or a test's.
    package init(
        configuration: String = "/etc/resolv.conf", upstreams: String = "/run/systemd/resolve/resolv.conf"
    ) {
        self.configuration = configuration
        self.upstreams = upstreams
    }

    /// Reads both; a file that is missing or cannot be read counts as empty.
    package func read() -> ResolverSettings {
        var settings = ResolverSettings(parsing: ResolverFiles.text(self.configuration), zone: ResolverFiles.index)
        if settings.hasStub {
            let text = ResolverFiles.text(self.upstreams)
            settings.upstreams = ResolverSettings.nameservers(in: text, zone: ResolverFiles.index)
        }
        return settings
    }

    private static func index(of link: String) -> UInt32? {
        let index = if_nametoindex(link)
        return index == 0 ? nil : index
    }

    // These files are short; 64 KiB is a safe bound. O_NONBLOCK, in case the path is a pipe.
    private static func text(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while content.count < 65_536 {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            content.append(contentsOf: buffer[..<count])
        }
        return String(decoding: content, as: UTF8.self)
    }
}
