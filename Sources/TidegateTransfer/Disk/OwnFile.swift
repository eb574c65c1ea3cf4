internal import Glibc

/// Files beside a destination: only a regular file of this user's with one name is believed, because others may write
/// to its directory, too.
enum OwnFile {
    /// Opens a file that is there, without following a link or waiting for the other end of a pipe.
    ///
    /// - Returns: nil if there is no such file.
    /// - Throws: ``FileError`` for a file that is not this user's own.
    static func open(_ file: FileLocation, _ access: Int32) throws(FileError) -> Int32? {
        let descriptor = file.open(access | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw FileError(operation: "open", path: file.path, code: errno) }
            return nil
        }
        do throws(FileError) {
            try self.check(descriptor, file.path)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Refuses a pipe, whose other end libcurl would wait for, and every transfer with it.
    static func refusePipe(_ path: String) throws(FileError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
        throw FileError(operation: "is a pipe; a regular file is needed", path: path, code: 0)
    }

    private static func check(_ descriptor: Int32, _ path: String) throws(FileError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError(operation: "fstat", path: path, code: errno) }
        let remedy = "; remove it to start anew"
        let problem =
            if status.st_mode & S_IFMT != S_IFREG {
                "is not a regular file"
            } else if status.st_uid != geteuid() {
                "belongs to another user (uid \(status.st_uid))"
            } else {
                status.st_nlink > 1 ? "has \(status.st_nlink) hard links" : ""
            }
        guard problem.isEmpty else { throw FileError(operation: problem + remedy, path: path, code: 0) }
    }
}
