internal import Glibc

/// The descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Fills those that the program was started without.
    ///
    /// The next file that is opened, a journal or a download, would get the number, and with it the text that is meant
    /// for people.
    static func fill() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // Open the wrong way round: what reads or writes there is still told that it cannot.
            let direction = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY
            guard open("/dev/null", direction) == descriptor else { _exit(Ending.Code.usage.number) }
        }
    }
}
