internal import CLinux
internal import Glibc
internal import Synchronization
package import TidegateCore
internal import TidegateLoop

/// The temporary file of a download, beside its destination: `.NAME.tidegate`.
///
/// The transfer thread writes it; the disk thread makes it durable and moves it. The destination never holds a partial
/// file. A lock (flock(2)) keeps two downloads to one destination apart.
package final class DownloadFile: Sendable {
    /// The paths of this download.
    package let paths: DownloadPaths
    package let descriptor: Int32
    /// The end of the bytes that the kernel was asked to write back.
    private let writtenBack = Atomic<Int64>(0)
    /// The error number with which the disk lost bytes; Linux reports it once per descriptor (fsync(2)).
    private let lossCode = Atomic<Int32>(0)
    /// True once ``commit()`` has moved the file: a temporary file then belongs to another download.
    private let wasMoved = Atomic<Bool>(false)
    /// The end of the bytes that this download has written completely.
    private let writtenEnd = Atomic<Int64>(0)
    /// How often written bytes were cut off.
    private let cuts = Atomic<Int>(0)

    private init(paths: DownloadPaths, descriptor: Int32) {
        self.paths = paths
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }

    /// Creates the temporary file or opens the existing one; refuses a file that is not a regular file of this user
    /// with a single name.
    ///
    /// The first `offset` bytes of an existing file are kept and the rest is cut off; if the file is shorter, all of it
    /// is kept (see ``size()``). Nil starts anew and removes a record that describes other bytes. With `permissions`,
    /// or if a file is replaced, users who may not read the final file cannot read the temporary one either. A file
    /// that is written in place keeps its bytes until a response's first one.
    /// - Throws: ``FileError``; `flock` with EWOULDBLOCK means that another download is writing this file.
    package static func open(
        _ paths: DownloadPaths, keeping offset: Int64? = nil, permissions: UInt16? = nil
    ) throws(FileError) -> DownloadFile {
        if paths.way == .stream { return DownloadFile(paths: paths, descriptor: try self.stream(paths.destination)) }
        let permissions = permissions ?? paths.permissions
        let file = try self.locked(paths, permissions)
        guard paths.way == .replaced else { return file }
        if let permissions { try file.check(fchmod(file.descriptor, self.mode(permissions)), "fchmod") }
        if offset == nil { try paths.removeRecord() }
        let size = try file.size()
        if size > offset ?? 0 { try file.truncate(to: offset ?? 0) }
        return file
    }

    private static func locked(_ paths: DownloadPaths, _ permissions: UInt16?) throws(FileError) -> DownloadFile {
        for _ in 0..<8 {
            let file = try self.opened(paths, permissions)
            if try file.lock() { return file }
        }
        throw FileError(operation: "flock", path: paths.temporary.path, code: EWOULDBLOCK)
    }

    /// Opens or creates the temporary file, which may be locked by another download.
    static func opened(_ paths: DownloadPaths, _ permissions: UInt16?) throws(FileError) -> DownloadFile {
        let mode = permissions.map(self.mode) ?? 0o666
        if paths.way == .inPlace {
            let descriptor = try FileError.check(
                paths.destination.open(O_RDWR | O_NOFOLLOW | O_NONBLOCK), "open", paths.destination.path)
            return DownloadFile(paths: paths, descriptor: descriptor)
        }
        for _ in 0..<8 {
            if let descriptor = try paths.temporary.openOwn(O_RDWR, for: .task) {
                return DownloadFile(paths: paths, descriptor: descriptor)
            }
            // A new file is trusted even if the file system reports another owner, as NFS may.
            let descriptor = try FileError.check(
                paths.temporary.open(O_RDWR | O_CREAT | O_EXCL, mode, for: .task), "open", paths.temporary.path,
                allowing: EEXIST)
            if descriptor >= 0 { return DownloadFile(paths: paths, descriptor: descriptor) }
        }
        throw FileError(operation: "open", path: paths.temporary.path, code: EEXIST)
    }

    // Opens a device, a pipe or a descriptor of this process; open(2) would wait for a pipe's reader.
    private static func stream(_ file: FileLocation) throws(FileError) -> Int32 {
        if let own = file.ownDescriptor {
            let flags = fcntl(own, F_GETFL)
            guard flags >= 0, flags & O_ACCMODE != O_RDONLY else {
                throw FileError(operation: "is not open for writing", path: file.path)
            }
            return try FileError.check(fcntl(own, F_DUPFD_CLOEXEC, 3), "dup", file.path)
        }
        let descriptor = try FileError.check(
            file.open(O_WRONLY | O_NONBLOCK | O_NOCTTY), "open", file.path, allowing: ENXIO)
        guard descriptor >= 0 else {
            throw FileError(operation: "is a pipe that no process reads, or a device that is absent", path: file.path)
        }
        _ = fcntl(descriptor, F_SETFL, O_WRONLY)
        return descriptor
    }

    /// Locks the file; false if it is no longer the temporary file, which must then be opened again.
    ///
    /// Between open and flock, another download may have moved this file to its destination.
    func lock() throws(FileError) -> Bool {
        try self.check(flock(self.descriptor, LOCK_EX | LOCK_NB), "flock")
        return self.isOpenFile(self.paths.temporary) == true
    }

    /// Opens the file of a finished download for reading.
    package static func finished(_ paths: DownloadPaths) throws(FileError) -> DownloadFile {
        DownloadFile(paths: paths, descriptor: try paths.destination.openForReading())
    }

    // Whether the path names the open file; nil if no such file exists.
    private func isOpenFile(_ file: FileLocation) -> Bool? {
        var (mine, there) = (stat(), stat())
        guard file.status(&there, followingLinks: false) == 0 else { return nil }
        return fstat(self.descriptor, &mine) == 0 && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino
    }

    /// Releases the file to another download; this one no longer touches it.
    ///
    /// The file itself may stay open for a while, until the last reference is gone.
    package func unlock() { _ = flock(self.descriptor, LOCK_UN) }

    // The writing process must be able to open the file again; commit() sets the remaining bits.
    private static func mode(_ permissions: UInt16) -> mode_t { mode_t(permissions & 0o777 | 0o600) }

    // Takes owner, permissions and attributes of the file that is replaced, as far as permitted.
    private func inherit() {
        guard let old = self.paths.replaced else { return }
        let keepsOwner = fchown(self.descriptor, old.st_uid, gid_t.max) == 0
        let keepsGroup = fchown(self.descriptor, uid_t.max, old.st_gid) == 0
        var mode = old.st_mode & 0o7777
        // The rights of the old owner and group are not those of the new ones.
        if !keepsOwner { mode &= 0o3777 }
        if !keepsGroup { mode = mode & 0o5707 | (mode & 0o070 & mode << 3) }
        let source = self.paths.destination.open(O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        tg_copy_attributes(source, self.descriptor)
        if source >= 0 { close(source) }
        // After an ACL, whose group entry it bounds (acl(5)).
        _ = fchmod(self.descriptor, mode)
    }

    /// The size of the file in bytes.
    package func size() throws(FileError) -> Int64 { try self.identity().size }

    /// The identity of the file, which survives a move.
    package func identity() throws(FileError) -> FileIdentity {
        var status = stat()
        try self.check(fstat(self.descriptor, &status), "fstat")
        return FileIdentity(status)
    }

    /// Why this many more bytes do not fit on the file system; nil if they do, or if that cannot be determined.
    func missingRoom(for needed: Int64) -> String? {
        var status = statvfs()
        guard needed > 0, fstatvfs(self.descriptor, &status) == 0 else { return nil }
        let room = DownloadFile.room(status)
        guard room < needed else { return nil }
        return "\(self.paths.destination) needs \(ByteText(needed)) and its file system has \(ByteText(room)) left"
    }

    // The superuser may use a file system's reserved blocks (statvfs(3)).
    static func room(_ status: statvfs) -> Int64 {
        // Virtual and FUSE file systems may not count their blocks.
        guard status.f_blocks > 0 else { return .max }
        let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
        let (bytes, isTooLarge) = Int64(clamping: blocks).multipliedReportingOverflow(by: Int64(status.f_frsize))
        return isTooLarge ? .max : bytes
    }

    /// Truncates the file; if nothing remains, removes the record first.
    ///
    /// After a crash in between, the record must not promise bytes that are gone.
    package func truncate(to length: Int64) throws(FileError) {
        if length < self.writtenEnd.load(ordering: .relaxed) {
            // Before any byte changes: a reader checks it after reading.
            self.cuts.add(1, ordering: .sequentiallyConsistent)
            self.writtenEnd.store(length, ordering: .sequentiallyConsistent)
        }
        if length == 0 { try self.paths.removeRecord() }
        try self.check(ftruncate(self.descriptor, off_t(length)), "ftruncate")
        if length == 0 { self.lossCode.store(0, ordering: .relaxed) }
        self.writtenBack.store(min(length, self.writtenBack.load(ordering: .relaxed)), ordering: .relaxed)
    }

    /// Reads up to `count` bytes from `offset`; fewer at the end of the file.
    package func read(at offset: Int64, upTo count: Int) throws(FileError) -> [UInt8] {
        try FileError.reading(count, of: self.paths.temporary.path, "pread") { rest, done in
            pread(self.descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
        }
    }

    /// Reads up to 64 KiB from `offset` while the file is written; nil if bytes before `offset` were cut off.
    ///
    /// A part that an earlier download left counts as written once the first byte follows it, because the server may
    /// have another body by now. With `isWhole`, everything counts. The reader keeps `offset` and `cuts`.
    package func follow(from offset: inout Int64, since cuts: inout Int, isWhole: Bool) throws(FileError) -> [UInt8]? {
        if offset == 0 { cuts = self.cuts.load(ordering: .sequentiallyConsistent) }
        let end = isWhole ? .max : self.writtenEnd.load(ordering: .sequentiallyConsistent)
        let bytes = try self.read(at: offset, upTo: Int(max(0, min(64 << 10, end - offset))))
        guard self.cuts.load(ordering: .sequentiallyConsistent) == cuts else { return offset == 0 ? [] : nil }
        offset += Int64(bytes.count)
        return bytes
    }

    /// The bytes before `offset` that are due for write-back, each returned once; nil while they are few.
    ///
    /// For the transfer thread, which knows the progress.
    package func takeWriteBack(upTo offset: Int64) -> Range<Int64>? {
        let start = self.writtenBack.load(ordering: .relaxed)
        guard offset - start >= 8 * 1024 * 1024 else { return nil }
        self.writtenBack.store(offset, ordering: .relaxed)
        return start..<offset
    }

    /// Starts write-back while more bytes arrive (sync_file_range(2)).
    ///
    /// Otherwise one long fsync(2) would write everything at the end. Blocks if the disk is busy: for the disk thread.
    package func beginWriteBack(_ range: Range<Int64>) {
        // Only a head start: commit() reports errors of the disk.
        _ = tg_begin_write_back(self.descriptor, range.lowerBound, Int64(range.count))
    }

    /// Makes the bytes written so far durable (fdatasync(2)).
    ///
    /// Blocks: for the disk thread. After a failure, this and ``commit()`` keep failing until the file is truncated to
    /// nothing.
    package func synchronize() throws(FileError) { try self.synchronize(fdatasync, "fdatasync") }

    private func synchronize(_ call: (Int32) -> Int32, _ operation: String) throws(FileError) {
        let known = self.lossCode.load(ordering: .relaxed)
        guard known == 0 else { throw FileError(operation: operation, path: self.paths.temporary.path, code: known) }
        guard call(self.descriptor) != 0 else { return }
        let code = errno
        // An interrupted call has lost nothing.
        if code != EINTR { self.lossCode.store(code, ordering: .relaxed) }
        throw FileError(operation: operation, path: self.paths.temporary.path, code: code)
    }

    /// Makes the file durable, moves it to the destination, makes the move durable, and removes the continuation
    /// record.
    ///
    /// A file that is replaced passes on its owner, permissions and attributes, as far as permitted; `permissions`
    /// replace its own. With `modified`, in seconds since 1970, the file gets this time. Blocks: for the disk thread.
    /// It can be called again after a failure; after a failed `fsync` of the temporary file, only once that was
    /// truncated to nothing.
    package func commit(
        permissions: UInt16? = nil, modified: Int64? = nil, replacing: Bool = true
    ) throws(FileError) {
        if self.paths.way == .stream { return }
        if let modified {
            let time = timespec(tv_sec: Int(modified), tv_nsec: 0)
            // A file system that refuses keeps its own time (futimens(3)).
            _ = futimens(self.descriptor, [time, time])
        }
        if self.paths.way == .inPlace { return try self.synchronize(fsync, "fsync") }
        if self.isOpenFile(self.paths.temporary) == true { self.inherit() }
        if let permissions { try self.check(fchmod(self.descriptor, mode_t(permissions)), "fchmod") }
        let isAgain = self.wasMoved.load(ordering: .relaxed)
        if !isAgain { try self.move(replacing: replacing) }
        // Another download may have started by now.
        if !isAgain || self.isOpenFile(self.paths.temporary) == nil { try self.paths.removeRecord() }
        try self.paths.synchronizeDirectory()
    }

    private func move(replacing: Bool) throws(FileError) {
        try self.synchronize(fsync, "fsync")
        let isThere = self.isOpenFile(self.paths.temporary)
        // Over NFS, rename(2) may succeed and still report a failure.
        if isThere == true || self.isOpenFile(self.paths.destination) != true {
            guard isThere != false else {
                throw FileError(operation: "rename", path: self.paths.temporary.path, code: ESTALE)
            }
            try FileError.check(
                self.paths.temporary.rename(to: self.paths.destination, replacing: replacing), "rename",
                self.paths.destination.path)
        }
        self.wasMoved.store(true, ordering: .relaxed)
    }

    /// Removes the temporary file and its record, unless they belong to another download.
    ///
    /// Blocks: for the disk thread.
    package func discard() throws(FileError) {
        guard self.paths.way == .replaced, self.isOpenFile(self.paths.temporary) != false else { return }
        try FileError.check(self.paths.temporary.unlink(), "unlink", self.paths.temporary.path, allowing: ENOENT)
        try self.paths.removeRecord()
    }

    /// Writes bytes behind those written so far; waits while a pipe is full.
    package func append(_ bytes: [UInt8]) throws(FileError) {
        try bytes.withUnsafeBufferPointer { bytes throws(FileError) in
            try self.write(UnsafeRawBufferPointer(bytes), at: self.writtenEnd.load(ordering: .relaxed))
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let (start, rest) = (bytes.baseAddress?.advanced(by: done), bytes.count - done)
            let count =
                self.paths.way == .stream
                ? Glibc.write(self.descriptor, start, rest)
                : pwrite(self.descriptor, start, rest, off_t(offset) + off_t(done))
            if count < 0 {
                guard errno == EINTR else {
                    throw FileError(operation: "write", path: self.paths.temporary.path, code: errno)
                }
            } else {
                done += count
            }
        }
        self.writtenEnd.store(offset + Int64(bytes.count), ordering: .releasing)
    }

    private func check(_ result: Int32, _ operation: String) throws(FileError) {
        try FileError.check(result, operation, self.paths.temporary.path)
    }
}
