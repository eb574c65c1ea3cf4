/// The files with the resolver's settings.
package struct ResolverFiles: Sendable, Hashable {
    /// The file that glibc reads.
    package var configuration = "/etc/resolv.conf"
    /// The file in which systemd-resolved lists the servers behind its stub.
    package var upstreams = "/run/systemd/resolve/resolv.conf"
    /// The file that is asked before any server.
    package var hosts = "/etc/hosts"

    /// The files of this system.
    package init() {}

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
