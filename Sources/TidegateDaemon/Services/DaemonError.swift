/// Why the daemon cannot run, in one sentence that names the resource.
package enum DaemonError: Error, Sendable, CustomStringConvertible {
    /// The configuration is bad.
    case configuration(ConfigurationError)
    /// What the daemon needs from the machine is not to be had: a port, a thread.
    case resource(String)

    package var description: String {
        switch self {
        case .configuration(let error): error.description
        case .resource(let sentence): sentence
        }
    }
}
