internal import Glibc

/// Where a download's files are: NAME, and beside it `.NAME.tidegate` and `.NAME.tidegate.json`.
package struct DownloadPaths: Sendable, Hashable {
    /// The final place.
    package let destination: FileLocation
    /// The bytes while they come.
    package let temporary: FileLocation
    /// How to continue after a crash.
    package let record: FileLocation
    let directory: FileLocation

    /// The paths that belong to a destination, all of them below one of `directories`; with nil anywhere.
    package init(destination path: String, below directories: [String]? = nil) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let prefix = slash.map { path[...$0] } ?? ""
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        self.destination = FileLocation(path, below: directories)
        self.temporary = self.destination.sibling("\(prefix).\(name).tidegate")
        self.record = self.destination.sibling("\(prefix).\(name).tidegate.json")
        self.directory = self.destination.sibling(prefix.isEmpty ? "." : String(prefix))
    }

    /// The destination from the root; as it is if the working directory is not known.
    package var absoluteDestination: String {
        let path = self.destination.path
        guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
        defer { free(directory) }
        return "\(String(cString: directory))/\(path)"
    }

    // A rename is durable only when its directory is.
    func synchronizeDirectory() throws(FileError) {
        let descriptor = self.directory.open(O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { throw FileError(operation: "open", path: self.directory.path, code: errno) }
        let code = fsync(descriptor) == 0 ? 0 : errno
        close(descriptor)
        // Some file systems have no fsync for directories and say so.
        guard code == 0 || code == EINVAL else {
            throw FileError(operation: "fsync", path: self.directory.path, code: code)
        }
    }
}
