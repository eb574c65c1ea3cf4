internal import Glibc
internal import GRDB
package import TidegateCore
package import TidegateIncidents

/// The incidents of a state directory that a daemon may be using.
package enum IncidentFile {
    /// Reads them from a private copy of the journal and its write-ahead log, which are left alone.
    ///
    /// - Throws: ``TextError`` if there is no journal, or if it cannot be read.
    package static func answer(
        _ question: IncidentQuestion, at now: WallTime, inStateDirectory directory: String
    ) async throws(TextError) -> IncidentAnswer {
        let path = JournalFile.path(in: directory)
        var folder = Array("/tmp/tidegate-incidents-XXXXXX".utf8CString)
        guard mkdtemp(&folder) != nil else {
            throw TextError("cannot create a temporary directory: \(SystemError.message(errno))")
        }
        let copy = String(decoding: folder.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { _ = rmdir(copy) }
        defer { for suffix in ["", "-wal", "-shm"] { unlink("\(copy)/journal.sqlite\(suffix)") } }
        // A checkpoint between the two copies would leave pages in neither.
        var changed: Stamp?
        repeat {
            changed = Stamp(path)
            unlink("\(copy)/journal.sqlite-wal")
            try self.copy(path, to: "\(copy)/journal.sqlite")
            if access("\(path)-wal", F_OK) == 0 { try self.copy("\(path)-wal", to: "\(copy)/journal.sqlite-wal") }
        } while changed != Stamp(path)
        let queue: DatabaseQueue
        do {
            queue = try DatabaseQueue(path: "\(copy)/journal.sqlite")
            guard try await queue.read({ try $0.tableExists("incident") }) else {
                throw TextError(
                    "the journal \(path) was written by an older version: start the daemon once to upgrade it")
            }
        } catch let error as TextError {
            throw error
        } catch {
            throw TextError("the incidents in \(path) cannot be read: \(error)")
        }
        return try await IncidentRow.answer(question, at: now, from: queue, path: path)
    }

    private static func copy(_ path: String, to copy: String) throws(TextError) {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw TextError("\(path) cannot be read: \(SystemError.message(errno))") }
        defer { close(source) }
        let target = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw TextError("\(copy) cannot be written: \(SystemError.message(errno))") }
        defer { close(target) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count >= 0 else { throw TextError("\(path) cannot be read: \(SystemError.message(errno))") }
            if count == 0 { return }
            guard write(target, buffer, count) == count else {
                throw TextError("\(copy) cannot be written: \(SystemError.message(errno))")
            }
        }
    }

    /// What changes when a file is written.
    private struct Stamp: Hashable {
        var size, seconds, nanoseconds: Int

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (self.size, self.seconds) = (Int(status.st_size), status.st_mtim.tv_sec)
            self.nanoseconds = status.st_mtim.tv_nsec
        }
    }
}
