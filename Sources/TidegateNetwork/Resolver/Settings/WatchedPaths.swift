internal import Glibc

/// What to watch so that no change of some files is missed: directories, and the relevant entries in them.
///
/// Files are usually replaced instead of written, and directories are created and removed by the service that owns them.
/// So a file is watched through the deepest directory of its path that exists, and through every symbolic link.
struct WatchedPaths: Hashable {
    private(set) var entries: [String: Set<String>] = [:]

    // More symbolic links in a row than occur in practice.
    private static let longestChain = 8

    init(for paths: [String]) {
        for path in paths { self.add(path) }
    }

    private mutating func add(_ path: String) {
        var path = path
        for _ in 0..<WatchedPaths.longestChain {
            let (folder, name) = WatchedPaths.split(path)
            guard WatchedPaths.isFolder(folder) else { return self.addAncestor(of: folder) }
            self.entries[folder, default: []].insert(name)
            guard let target = SystemFiles.target(of: path) else { return }
            path = target.hasPrefix("/") ? target : "\(folder)/\(target)"
        }
    }

    private mutating func addAncestor(of folder: String) {
        var folder = folder
        while folder != "/" {
            let (parent, name) = WatchedPaths.split(folder)
            if WatchedPaths.isFolder(parent) {
                self.entries[parent, default: []].insert(name)
                return
            }
            folder = parent
        }
    }

    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let folder = String(path[..<slash])
        return (folder.isEmpty ? "/" : folder, String(path[path.index(after: slash)...]))
    }

    private static func isFolder(_ path: String) -> Bool {
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
    }
}
