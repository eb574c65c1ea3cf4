internal import CLinux
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// A file's path, and the directory that the file must not leave.
///
/// Other users may replace a part of the path with a symbolic link at any time. Each system call on a confined file
/// therefore opens the file's directory again, one component after the other without following links (openat(2)), and
/// names the file relative to it.
package struct FileLocation: Sendable, Hashable, CustomStringConvertible {
    package let path: String
    /// Nil if the file is not confined; empty if no directory allows its path.
    private let root: String?

    /// A file that must be below one of `directories`; nil allows any file.
    ///
    /// The directories themselves may be symbolic links. Of nested directories the outermost is used: the inner one
    /// could be replaced by a link.
    package init(_ path: String, below directories: [String]? = nil) {
        let names = FileLocation.names(path)
        let roots = directories?.filter { root in
            let names = (root: FileLocation.names(root), path: names)
            return names.path.count > names.root.count && names.path.starts(with: names.root)
        }
        let isRefused = names.contains("..") || !path.hasPrefix("/")
        self.init(path, root: roots.map { isRefused ? "" : $0.min { $0.utf8.count < $1.utf8.count } ?? "" })
    }

    private init(_ path: String, root: String?) {
        self.path = path
        self.root = root
    }

    /// Another file under the same confinement, in the same directory or above it.
    func sibling(_ path: String) -> FileLocation { FileLocation(path, root: self.root) }

    package var description: String { self.path }

    /// False if the path is below none of the allowed directories.
    package var isAllowed: Bool { self.root != "" }

    var isConfined: Bool { self.root != nil }

    // By bytes: Swift joins a slash with a following combining scalar into one character, but the kernel sees a slash.
    private static func names(_ path: String) -> [Substring] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    }

    // MARK: - Bytes

    // Names on Linux are bytes, and strings have none that are not UTF-8: such a byte B is the scalar U+10FF00 + B.

    /// The text of a path with these bytes, which may have any encoding.
    package static func text(of bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !self.hasForeignBytes(text) { return text }
        var (text, rest) = ("", Array(bytes)[...])
        while let first = rest.first {
            let letter = (1...4).compactMap { String(validating: rest.prefix($0), as: UTF8.self) }.first
            if let letter, !self.hasForeignBytes(letter) {
                text += letter
                rest = rest.dropFirst(letter.utf8.count)
            } else {
                if let scalar = Unicode.Scalar(0x10FF00 + UInt32(first)) { text.unicodeScalars.append(scalar) }
                rest = rest.dropFirst()
            }
        }
        return text
    }

    private static func hasForeignBytes(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.contains { $0.value >= 0x10FF80 }
    }

    /// The bytes of a path or a part of one for the kernel, with a final NUL.
    static func bytes(_ text: some StringProtocol) -> [CChar] {
        guard self.hasForeignBytes(text) else { return Array(String(text).utf8CString) }
        let bytes = text.unicodeScalars.flatMap { scalar in
            scalar.value >= 0x10FF80 ? [UInt8(truncatingIfNeeded: scalar.value)] : Array(String(scalar).utf8)
        }
        return bytes.map { CChar(bitPattern: $0) } + [0]
    }

    /// The number of bytes in the file's name.
    var nameLength: Int { FileLocation.bytes(self.parts.name).count - 1 }

    // MARK: - Parts

    /// The path up to the last slash, and the rest.
    var parts: (prefix: Substring, name: Substring) {
        let end = self.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { self.path.utf8.index(after: $0) }
        return (self.path[..<(end ?? self.path.startIndex)], self.path[(end ?? self.path.startIndex)...])
    }

    /// The directory of the file.
    var directory: FileLocation {
        let prefix = self.parts.prefix.utf8
        let path = String(decoding: prefix.dropLast(), as: UTF8.self)
        return self.sibling(prefix.isEmpty ? "." : prefix.count == 1 ? "/" : path)
    }

    /// The path components from the root to the file.
    private var relative: ArraySlice<Substring> {
        FileLocation.names(self.path).dropFirst(FileLocation.names(self.root ?? "").count)
    }

    /// The file's name relative to its directory.
    private var name: [CChar] { FileLocation.bytes(self.isConfined ? self.relative.last ?? "." : self.path[...]) }

    private func call(_ body: (_ directory: Int32, _ name: [CChar]) -> Int32) -> Int32 {
        guard let root = self.root else { return body(AT_FDCWD, self.name) }
        var directory = Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        for name in self.relative.dropLast() where directory >= 0 {
            let next = openat(
                directory, FileLocation.bytes(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            let code = errno
            close(directory)
            directory = next
            // O_NOFOLLOW with O_DIRECTORY fails with ENOTDIR for a symbolic link.
            errno = code == ENOTDIR ? ELOOP : code
        }
        guard directory >= 0 else { return -1 }
        let result = body(directory, self.name)
        let code = errno
        close(directory)
        errno = code
        return result
    }

    // MARK: - System calls; they return -1 with errno set where the originals do

    func open(_ flags: Int32, _ mode: mode_t = 0, for use: DescriptorShortage.Use = .file) -> Int32 {
        DescriptorShortage.bounded(
            self.call { openat($0, $1, flags | O_CLOEXEC | (self.isConfined ? O_NOFOLLOW : 0), mode) }, use)
    }

    func status(_ status: inout stat, followingLinks: Bool = true) -> Int32 {
        let flags = followingLinks && !self.isConfined ? 0 : AT_SYMLINK_NOFOLLOW
        return self.call { fstatat($0, $1, &status, flags) }
    }

    func isAccessible(_ mode: Int32) -> Bool { self.call { faccessat($0, $1, mode, 0) } == 0 }

    func makeDirectory() -> Int32 { self.call { mkdirat($0, $1, 0o777) } }

    func unlink() -> Int32 { self.call { unlinkat($0, $1, 0) } }

    /// Whether something is mounted here, which no rename replaces.
    var isMountPoint: Bool { self.call { tg_is_mount_point($0, $1) } == 1 }

    /// Moves the file to another name in its directory; with `replacing` false it fails with EEXIST if that exists.
    func rename(to other: FileLocation, replacing: Bool = true) -> Int32 {
        guard !replacing else { return self.call { renameat($0, $1, $0, other.name) } }
        let result = self.call { linkat($0, $1, $0, other.name, 0) }
        if result == 0 { return self.unlink() }
        // Some file systems have no second names (vfat).
        return errno == EPERM || errno == EOPNOTSUPP ? self.rename(to: other) : result
    }

    // MARK: - Symbolic links

    /// The file to which the symbolic links from this path lead; it need not exist.
    ///
    /// A confined file is returned unchanged, because no system call follows its links. A link to an open file
    /// (proc_pid_fd(5)) has no path behind it.
    /// - Throws: ``FileError`` for a loop, and for root at a link in a directory that others can write: they could lead
    /// root to any file, as protected_symlinks in proc_sys_fs(5) explains.
    func followingLinks() throws(FileError) -> FileLocation {
        var file = self
        for _ in 0..<40 {
            guard !file.isConfined else { return file }
            try file.checkDirectories()
            guard let target = file.linkTarget, !file.realDirectory.hasPrefix("/proc/") else { return file }
            try file.checkLink()
            let text = FileLocation.text(of: target)
            file = FileLocation(target.first == UInt8(ascii: "/") ? text : file.parts.prefix + text)
        }
        throw FileError(operation: "is a symbolic link that leads back to itself", path: self.path)
    }

    // Throws for root if others could have made one of the links on the way to this file's directory.
    private func checkDirectories() throws(FileError) {
        guard geteuid() == 0 else { return }
        var place = self.directory
        for _ in 0..<40 {
            var link = place
            while link.linkTarget == nil, link != link.directory { link = link.directory }
            guard let text = link.linkTarget.map({ FileLocation.text(of: $0) }) else { return }
            try link.checkLink()
            let rest = place.path.dropFirst(link.path.count)
            place = FileLocation((text.hasPrefix("/") ? text : link.parts.prefix + text) + rest)
        }
        throw FileError(operation: "leads through symbolic links that lead back to themselves", path: self.path)
    }

    // Throws for root if others could have made this symbolic link.
    private func checkLink() throws(FileError) {
        var status = stat()
        try FileError.check(self.directory.status(&status), "stat", self.directory.path)
        guard geteuid() != 0 || (status.st_uid == 0 && status.st_mode & 0o022 == 0) else {
            let problem = "is a symbolic link in a directory that others can write, and root does not follow it"
            throw FileError(operation: "\(problem); name the file to which it leads", path: self.path)
        }
    }

    /// The text of the symbolic link; nil if the file is none.
    var linkTarget: [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = self.call { Int32(readlinkat($0, $1, &buffer, buffer.count)) }
        return count < 0 ? nil : Array(buffer[..<Int(count)])
    }

    private var realDirectory: String {
        guard let path = realpath(FileLocation.bytes(self.directory.path), nil) else { return "" }
        defer { free(path) }
        return String(cString: path) + "/"
    }

    /// The descriptor of this process that the path names, as /dev/fd/3 does; nil if it names none.
    package var ownDescriptor: Int32? {
        let isOwn = !self.isConfined && self.realDirectory == FileLocation("/proc/self/fd/0").realDirectory
        return isOwn ? Int32(self.parts.name) : nil
    }

    // MARK: - Opening

    /// Opens a file for reading, without waiting for the other end of a pipe.
    ///
    /// Hard links are refused: one in a confined directory could lead to any file of the file system.
    func openForReading() throws(FileError) -> Int32 {
        let descriptor = try FileError.check(self.open(O_RDONLY | O_NONBLOCK, for: .task), "open", self.path)
        var status = stat()
        guard fstat(descriptor, &status) == 0, !self.isConfined || status.st_nlink == 1 else {
            let error = FileError(operation: "has \(status.st_nlink) hard links", path: self.path)
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Refuses a pipe: libcurl would wait for its other end and block every transfer.
    static func refusePipe(_ path: String) throws(FileError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
        throw FileError(operation: "is a pipe; a regular file is needed", path: path)
    }

    // MARK: - Small files of this user

    /// Opens a file beside a destination, if it exists, without following a link or waiting for the other end of a
    /// pipe.
    ///
    /// Only a regular file of this user with a single name is accepted, because other users may write to its directory.
    /// - Returns: nil if there is no such file.
    /// - Throws: ``FileError`` for a file that is not this user's own.
    func openOwn(_ access: Int32, for use: DescriptorShortage.Use = .file) throws(FileError) -> Int32? {
        let descriptor = try FileError.check(
            self.open(access | O_NOFOLLOW | O_NONBLOCK, for: use), "open", self.path, allowing: ENOENT)
        guard descriptor >= 0 else { return nil }
        do throws(FileError) {
            try self.checkOwn(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    private func checkOwn(_ descriptor: Int32) throws(FileError) {
        var status = stat()
        try FileError.check(fstat(descriptor, &status), "fstat", self.path)
        let remedy = "; remove it to start anew"
        let problem =
            if status.st_mode & S_IFMT != S_IFREG {
                "is not a regular file"
            } else if status.st_uid != geteuid() {
                "belongs to another user (uid \(status.st_uid))"
            } else {
                status.st_nlink > 1 ? "has \(status.st_nlink) hard links" : ""
            }
        guard problem.isEmpty else { throw FileError(operation: problem + remedy, path: self.path) }
    }

    /// The first 64 KiB of a file of this user; nil if it does not exist.
    func read() throws(FileError) -> [UInt8]? {
        guard let descriptor = try self.openOwn(O_RDONLY) else { return nil }
        defer { close(descriptor) }
        let limit = 64 * 1024
        return try FileError.reading(limit, of: self.path, "read") { rest, _ in
            Glibc.read(descriptor, rest.baseAddress, rest.count)
        }
    }

    /// The name under which a new file is written before it replaces this one.
    var fresh: FileLocation { self.sibling("\(self.path).new") }

    /// Replaces the file by a new one that only its owner may read.
    ///
    /// It is made durable unless later readers can detect damage.
    func replace(with bytes: [UInt8], isDurable: Bool = true) throws(FileError) {
        let fresh = self.fresh
        // The leftover of a crash or of another program is not reused.
        _ = fresh.unlink()
        let descriptor = try FileError.check(fresh.open(O_WRONLY | O_CREAT | O_EXCL, 0o600), "open", fresh.path)
        let count = write(descriptor, bytes, bytes.count)
        let code = count == bytes.count && (!isDurable || fdatasync(descriptor) == 0) ? 0 : errno
        close(descriptor)
        guard code == 0, count == bytes.count else {
            _ = fresh.unlink()
            throw FileError(operation: "write", path: fresh.path, code: code == 0 ? ENOSPC : code)
        }
        try FileError.check(fresh.rename(to: self), "rename", self.path)
    }
}

/// A failed system call on a file.
package struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The call, as its man page names it.
    package let operation: String
    /// The file.
    package let path: String
    /// The error number (errno(3)); 0 if the operation says everything.
    package let code: Int32

    package init(operation: String, path: String, code: Int32 = 0) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// The failure of a task: a full disk or quota can be waited for, other errors cannot.
    package var failure: TaskFailure { [ENOSPC, EDQUOT].contains(self.code) ? .diskFull : .fileError }

    /// Whether no descriptor was free, which can also be waited for.
    package var isDescriptorShortage: Bool { DescriptorShortage.isReason(self.code) }

    package var description: String {
        guard self.code != 0 else { return "\(self.path) \(self.operation)" }
        return "\(self.path): \(self.operation): \(SystemError.message(self.code))"
    }

    /// Returns the result of a system call; throws if it is negative, unless errno is the allowed one.
    @discardableResult
    static func check(
        _ result: Int32, _ operation: String, _ path: String, allowing code: Int32 = 0
    ) throws(FileError) -> Int32 {
        guard result < 0, errno != code else { return result }
        throw FileError(operation: operation, path: path, code: errno)
    }

    /// Reads up to `count` bytes; `call` reads into the rest of the buffer and returns the number of bytes.
    static func reading(
        _ count: Int, of path: String, _ operation: String,
        _ call: (_ rest: UnsafeMutableRawBufferPointer, _ done: Int) -> Int
    ) throws(FileError) -> [UInt8] {
        var result = 1
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            while done < count, result > 0 {
                result = call(UnsafeMutableRawBufferPointer(rebasing: bytes[done...]), done)
                done += max(0, result)
                if result < 0, errno == EINTR { result = 1 }
            }
        }
        guard result >= 0 else { throw FileError(operation: operation, path: path, code: errno) }
        return bytes
    }
}
