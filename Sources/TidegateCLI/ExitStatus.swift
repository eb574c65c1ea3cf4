/// The exit statuses that scripts rely on.
enum ExitStatus: Hashable {
    /// No, or failed.
    case no
    /// Usage or internal error.
    case usage
    /// Unknown.
    case unknown
    /// Gave up waiting for a path.
    case gaveUp
    /// The command to run cannot be executed.
    case notRunnable
    /// The command to run does not exist.
    case notFound
    /// Terminated by a signal.
    case signal(Int32)
    /// The status of the command that was run.
    case command(Int32)

    /// The number for exit(3).
    var number: Int32 {
        switch self {
        case .no: 1
        case .usage: 2
        case .unknown: 3
        case .gaveUp: 75
        case .notRunnable: 126
        case .notFound: 127
        case .signal(let number): 128 + number
        case .command(let number): number
        }
    }
}
