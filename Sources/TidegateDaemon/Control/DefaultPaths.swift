internal import Glibc

/// The default paths of the control socket and the state directory.
package struct DefaultPaths: Sendable, Hashable {
    /// The control socket.
    package var socket: String
    /// The state directory.
    package var state: String

    /// The directories that systemd passes in the environment; without them, the system's for root and the user's
    /// otherwise.
    ///
    /// The user's directories follow the XDG Base Directory Specification.
    package init(user: UInt32, environment: (String) -> String?) {
        func directory(_ name: String) -> String? {
            // systemd passes a list if a unit has several directories.
            environment(name)?.split(separator: ":").first.map(String.init)
        }
        let runtime = directory("XDG_RUNTIME_DIR") ?? "/run/user/\(user)"
        let state = directory("XDG_STATE_HOME") ?? "\(directory("HOME") ?? "/tmp")/.local/state"
        self.socket = "\(directory("RUNTIME_DIRECTORY") ?? "\(user == 0 ? "/run" : runtime)/tidegate")/control.sock"
        self.state = directory("STATE_DIRECTORY") ?? "\(user == 0 ? "/var/lib" : state)/tidegate"
    }
}

/// The daemon's state directory; tasks must not read or write its files.
struct StateDirectoryPath: Sendable {
    let path: String

    /// True if a file is, or would be created, in the directory after symbolic links are resolved.
    func contains(_ file: String) -> Bool {
        guard let directory = StateDirectoryPath.resolve(self.path) else { return false }
        var existing = file
        // A missing file is not a link, so its directory decides.
        while true {
            if let resolved = StateDirectoryPath.resolve(existing) {
                return resolved == directory || resolved.utf8.starts(with: "\(directory)/".utf8)
            }
            guard let slash = existing.utf8.lastIndex(of: UInt8(ascii: "/")), existing != "/" else { return false }
            existing = slash == existing.startIndex ? "/" : String(existing[..<slash])
        }
    }

    private static func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

/// The name of this host (gethostname(2)).
package enum HostName {
    /// `localhost` if the kernel does not say.
    package static var current: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
