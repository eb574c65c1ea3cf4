/// The files with the resolver's settings.
package struct ResolverFiles: Sendable, Hashable {
    /// The file that glibc reads.
    package var configuration: String
    /// The file in which systemd-resolved lists the servers behind its stub.
    package var upstreams: String
    /// The file that is asked before any server.
    package var hosts: String

    /// The paths that every distribution uses, or a test's.
    package init(
        configuration: String = "/etc/resolv.conf", upstreams: String = "/run/systemd/resolve/resolv.conf",
        hosts: String = "/etc/hosts"
    ) {
        self.configuration = configuration
        self.upstreams = upstreams
        self.hosts = hosts
    }

    var all: [String] { [self.configuration, self.upstreams, self.hosts] }

    /// Reads the settings; a file that is missing or cannot be read counts as empty.
    package func read() -> ResolverSettings {
        let text = SystemFiles.text(self.configuration) ?? ""
        var settings = ResolverSettings(parsing: text, zone: SystemFiles.interfaceIndex)
        if settings.hasStub {
            let text = SystemFiles.text(self.upstreams) ?? ""
            settings.upstreams = ResolverSettings.nameservers(in: text, zone: SystemFiles.interfaceIndex)
        }
        return settings
    }
}
