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
        let home = directory("HOME") ?? "/tmp"
        if let runtime = directory("RUNTIME_DIRECTORY") {
            self.socket = "\(runtime)/control.sock"
        } else if user == 0 {
            self.socket = "/run/tidegate/control.sock"
        } else {
            self.socket = "\(directory("XDG_RUNTIME_DIR") ?? "/run/user/\(user)")/tidegate/control.sock"
        }
        if let state = directory("STATE_DIRECTORY") {
            self.state = state
        } else if user == 0 {
            self.state = "/var/lib/tidegate"
        } else {
            self.state = "\(directory("XDG_STATE_HOME") ?? "\(home)/.local/state")/tidegate"
        }
    }
}
