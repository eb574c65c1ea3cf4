internal import Glibc

/// Whether this process, or the machine, has as many files open as it may (EMFILE and ENFILE, open(2)).
package enum DescriptorShortage {
    /// True if none can be opened now.
    ///
    /// Libraries report a shortage as a name that is unknown, or as a certificate that cannot be read: this tells.
    package static var isNow: Bool {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor < 0 else {
            close(descriptor)
            return false
        }
        return self.isReason(errno)
    }

    static func isReason(_ code: Int32) -> Bool { code == EMFILE || code == ENFILE }
}
