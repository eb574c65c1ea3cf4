internal import CLinux
internal import Glibc
internal import Synchronization
package import TidegateCore

/// The temporary file of a download, beside its destination: `.NAME.tidegate`.
///
/// Written by the transfer thread, made durable and moved by the disk thread; there is never a partial file at the
/// destination. Locked (flock(2)), so that two downloads to one destination cannot mix.
package final class DownloadFile: Sendable {
    /// The paths of this download.
    package let paths: DownloadPaths
    private let descriptor: Int32
    /// Up to where the kernel was asked to write back.
    private let writtenBack = Atomic<Int64>(0)
    /// The error number with which the disk lost bytes; Linux reports it once for a descriptor (fsync(2)).
    private let lossCode = Atomic<Int32>(0)
    /// True once ``commit()`` has moved the file: the temporary file is another download's then.
    private let wasMoved = Atomic<Bool>(false)

    private init(paths: DownloadPaths, descriptor: Int32) {
        self.paths = paths
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }

    /// Creates the temporary file, or opens the one that is there; one that is not this user's own, a regular file with
    /// one name, is refused.
    ///
    /// `offset` bytes of an existing file are kept and the rest is cut off; nil starts anew, and removes a record that
    /// speaks of other bytes. If fewer are there, all of them are kept; see ``size()``. With `permissions` no one
    /// may read the bytes while they come who may not read them afterwards.
    /// - Throws: ``FileError``; `flock` with EWOULDBLOCK means that another download is writing this file.
    package static func open(
        _ paths: DownloadPaths, keeping offset: Int64? = nil, permissions: UInt16? = nil
    ) throws(FileError) -> DownloadFile {
        let file = try self.locked(paths, permissions)
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

    /// Opens or creates the temporary file, which another download may have locked.
    static func opened(_ paths: DownloadPaths, _ permissions: UInt16?) throws(FileError) -> DownloadFile {
        let mode = permissions.map(self.mode) ?? 0o666
        for _ in 0..<8 {
            if let descriptor = try paths.temporary.openOwn(O_RDWR) {
                return DownloadFile(paths: paths, descriptor: descriptor)
            }
            // A file just created is trusted, even if the file system reports another owner, as NFS may.
            let descriptor = try FileError.check(
                paths.temporary.open(O_RDWR | O_CREAT | O_EXCL, mode), "open", paths.temporary.path, allowing: EEXIST)
            if descriptor >= 0 { return DownloadFile(paths: paths, descriptor: descriptor) }
        }
        throw FileError(operation: "open", path: paths.temporary.path, code: EEXIST)
    }

    /// Locks the file; false if it is not the temporary file any more, which has to be opened again then.
    ///
    /// Between open and flock another download may have moved this very file to its destination.
    func lock() throws(FileError) -> Bool {
        try self.check(flock(self.descriptor, LOCK_EX | LOCK_NB), "flock")
        return self.isOpenFile(self.paths.temporary) == true
    }

    // Whether the path names the open file; nil if it names none.
    private func isOpenFile(_ file: FileLocation) -> Bool? {
        var (mine, there) = (stat(), stat())
        guard file.status(&there, followingLinks: false) == 0 else { return nil }
        return fstat(self.descriptor, &mine) == 0 && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino
    }

    /// Lets another download have the file; this one does not touch it any more.
    ///
    /// It may be a while until the last reference is gone and the file is closed.
    package func unlock() { _ = flock(self.descriptor, LOCK_UN) }

    // The process that writes the file must be able to open it again; the rest comes with setPermissions.
    private static func mode(_ permissions: UInt16) -> mode_t { mode_t(permissions & 0o777 | 0o600) }

    /// Gives the temporary file, and so the final one, these permission bits (fchmod(2)).
    package func setPermissions(_ bits: UInt16) throws(FileError) {
        try self.check(fchmod(self.descriptor, mode_t(bits)), "fchmod")
    }

    /// How many bytes are there.
    package func size() throws(FileError) -> Int64 { try self.identity().size }

    /// What distinguishes the file from another one, wherever it was moved to.
    package func identity() throws(FileError) -> FileIdentity {
        var status = stat()
        try self.check(fstat(self.descriptor, &status), "fstat")
        return FileIdentity(status)
    }

    /// Why so many more bytes do not fit on its file system; nil if they do, or if that cannot be found out.
    func missingRoom(for needed: Int64) -> String? {
        var status = statvfs()
        guard needed > 0, fstatvfs(self.descriptor, &status) == 0 else { return nil }
        let room = DownloadFile.room(status)
        guard room < needed else { return nil }
        return "\(self.paths.destination) needs \(ByteText(needed)) and its file system has \(ByteText(room)) left"
    }

    // The superuser may use what a file system keeps back (statvfs(3)).
    static func room(_ status: statvfs) -> Int64 {
        // A virtual file system, or one of FUSE's, that does not count its blocks.
        guard status.f_blocks > 0 else { return .max }
        let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
        let (bytes, isTooLarge) = Int64(clamping: blocks).multipliedReportingOverflow(by: Int64(status.f_frsize))
        return isTooLarge ? .max : bytes
    }

    /// Truncates the file; if nothing is left, the record goes first.
    ///
    /// After a crash in between it must not promise bytes that are gone.
    package func truncate(to length: Int64) throws(FileError) {
        if length == 0 { try self.paths.removeRecord() }
        try self.check(ftruncate(self.descriptor, off_t(length)), "ftruncate")
        if length == 0 { self.lossCode.store(0, ordering: .relaxed) }
        self.writtenBack.store(min(length, self.writtenBack.load(ordering: .relaxed)), ordering: .relaxed)
    }

    /// Up to `count` bytes from `offset`; fewer at the end of the file.
    package func read(at offset: Int64, upTo count: Int) throws(FileError) -> [UInt8] {
        try FileError.reading(count, of: self.paths.temporary.path, "pread") { rest, done in
            pread(self.descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
        }
    }

    /// The bytes before `offset` that the disk may begin with, once each; nil while they are few.
    ///
    /// For the transfer thread, which reports how far it has come.
    package func takeWriteBack(upTo offset: Int64) -> Range<Int64>? {
        let start = self.writtenBack.load(ordering: .relaxed)
        guard offset - start >= 8 * 1024 * 1024 else { return nil }
        self.writtenBack.store(offset, ordering: .relaxed)
        return start..<offset
    }

    /// Has the kernel write bytes to the disk while others still come (sync_file_range(2)).
    ///
    /// Otherwise everything would be written at the end, by one long fsync(2). Blocks if the disk has enough to do: for
    /// the disk thread.
    package func beginWriteBack(_ range: Range<Int64>) {
        // Only a beginning made early: what is wrong with the disk, commit() finds out.
        _ = tg_begin_write_back(self.descriptor, range.lowerBound, Int64(range.count))
    }

    /// Makes the bytes written so far durable (fdatasync(2)).
    ///
    /// Blocks: for the disk thread. Once it failed it fails, and ``commit()`` does, until the file is cut to nothing.
    package func synchronize() throws(FileError) { try self.synchronize(fdatasync, "fdatasync") }

    private func synchronize(_ call: (Int32) -> Int32, _ operation: String) throws(FileError) {
        let known = self.lossCode.load(ordering: .relaxed)
        guard known == 0 else { throw FileError(operation: operation, path: self.paths.temporary.path, code: known) }
        guard call(self.descriptor) != 0 else { return }
        let code = errno
        // A call that was interrupted has lost nothing.
        if code != EINTR { self.lossCode.store(code, ordering: .relaxed) }
        throw FileError(operation: operation, path: self.paths.temporary.path, code: code)
    }

    /// Makes the file durable, moves it to the destination, makes that durable, and removes the continuation record.
    ///
    /// Blocks: for the disk thread. Can be called again if it failed, and with `fsync` of the temporary file only if
    /// that was cut to nothing.
    package func commit() throws(FileError) {
        let isAgain = self.wasMoved.load(ordering: .relaxed)
        if !isAgain { try self.move() }
        // By now another download may have begun.
        if !isAgain || self.isOpenFile(self.paths.temporary) == nil { try self.paths.removeRecord() }
        try self.paths.synchronizeDirectory()
    }

    private func move() throws(FileError) {
        try self.synchronize(fsync, "fsync")
        let isThere = self.isOpenFile(self.paths.temporary)
        // Over NFS rename(2) may have done its work and failed all the same.
        if isThere == true || self.isOpenFile(self.paths.destination) != true {
            guard isThere != false else {
                throw FileError(operation: "rename", path: self.paths.temporary.path, code: ESTALE)
            }
            try FileError.check(
                self.paths.temporary.rename(to: self.paths.destination), "rename", self.paths.destination.path)
        }
        self.wasMoved.store(true, ordering: .relaxed)
    }

    /// Removes the temporary file and its record, unless they are another download's.
    ///
    /// Blocks: for the disk thread.
    package func discard() throws(FileError) {
        guard self.isOpenFile(self.paths.temporary) != false else { return }
        try FileError.check(self.paths.temporary.unlink(), "unlink", self.paths.temporary.path, allowing: ENOENT)
        try self.paths.removeRecord()
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                self.descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(offset) + off_t(done))
            if count < 0 {
                guard errno == EINTR else {
                    throw FileError(operation: "pwrite", path: self.paths.temporary.path, code: errno)
                }
            } else {
                done += count
            }
        }
    }

    private func check(_ result: Int32, _ operation: String) throws(FileError) {
        try FileError.check(result, operation, self.paths.temporary.path)
    }
}
