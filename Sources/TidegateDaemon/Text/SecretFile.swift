internal import Glibc

/// Files with passwords, keys or tokens.
package enum SecretFile {
    /// What is to be told of a file that every user may read; nil for others, and for one that is not there.
    package static func warning(about path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & S_IROTH != 0 else {
            return nil
        }
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return "\(path) has secrets, and every user may read it (mode 0\(mode)): chmod o-rwx \(path)"
    }
}
