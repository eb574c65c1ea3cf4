/// Why the daemon cannot run.
package enum DaemonError: Error, Sendable, CustomStringConvertible {
    /// The configuration is invalid.
    case configuration(ConfigurationError)
    /// A port, the control socket, the state directory or a thread is not available; the message names it.
    case resource(String)

    package var description: String {
        switch self {
        case .configuration(let error): error.description
        case .resource(let message): message
        }
    }
}
