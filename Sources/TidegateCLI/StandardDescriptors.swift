internal import Glibc

/// The descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Opens /dev/null for those that are closed at the start.
    ///
    /// Otherwise the next file that is opened, a journal or a download, would get the number, and receive the text that
    /// is printed.
    static func fill() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // In the wrong direction, so that reads and writes fail as they would on a closed descriptor.
            let direction = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY
            guard open("/dev/null", direction) == descriptor else { _exit(ExitStatus.usage.number) }
        }
    }
}
