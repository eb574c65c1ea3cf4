internal import Glibc

/// The default paths of the control socket and the state directory.
package struct DefaultPaths: Sendable, Hashable {
    /// The control socket.
    package var socket: String
    /// The state directory.
    package var state: String

    /// The system's directories for root and under systemd, which passes them in the environment; the user's (XDG Base
    /// Directory Specification) otherwise.
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

/// The daemon's state directory, which no task may read or write.
struct StateDirectoryPath: Sendable {
    let path: String

    /// True if a file is in the directory or would be created there, symbolic links resolved.
    func contains(_ file: String) -> Bool {
        guard let directory = StateDirectoryPath.resolve(self.path) else { return false }
        var existing = file
        // What does not exist is no link: its directory decides.
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
