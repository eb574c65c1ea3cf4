internal import Glibc

/// Where a download's files are: NAME, and beside it `.NAME.tidegate` and `.NAME.tidegate.json`.
package struct DownloadPaths: Sendable, Hashable {
    /// The final place.
    package let destination: String
    /// The bytes while they come.
    package let temporary: String
    /// How to continue after a crash.
    package let record: String
    private let directory: String

    /// The paths that belong to a destination.
    package init(destination: String) {
        let slash = destination.lastIndex(of: "/")
        let prefix = slash.map { destination[...$0] } ?? ""
        let name = slash.map { destination[destination.index(after: $0)...] } ?? destination[...]
        self.destination = destination
        self.temporary = "\(prefix).\(name).tidegate"
        self.record = "\(prefix).\(name).tidegate.json"
        self.directory = prefix.isEmpty ? "." : String(prefix)
    }

    /// The destination from the root; as it is if the working directory is not known.
    package var absoluteDestination: String {
        guard !self.destination.hasPrefix("/"), let directory = getcwd(nil, 0) else { return self.destination }
        defer { free(directory) }
        return "\(String(cString: directory))/\(self.destination)"
    }

    // A rename is durable only when its directory is.
    func synchronizeDirectory() throws(FileError) {
        let descriptor = open(self.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(operation: "open", path: self.directory, code: errno) }
        let code = fsync(descriptor) == 0 ? 0 : errno
        close(descriptor)
        // Some file systems have no fsync for directories and say so.
        guard code == 0 || code == EINVAL else {
            throw FileError(operation: "fsync", path: self.directory, code: code)
        }
    }
}
