/// A command's exit other than success: a status and a message for standard error.
struct CommandError: Error, Hashable {
    var status: ExitStatus
    /// The last line on standard error, without the program's name; nil if everything has been printed already.
    var message: String?

    init(_ status: ExitStatus, _ message: String? = nil) {
        self.status = status
        self.message = message
    }
}
