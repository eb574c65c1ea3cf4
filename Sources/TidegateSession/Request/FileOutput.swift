internal import Synchronization
package import TidegateCore
internal import TidegateTransfer

/// A file that a program writes as downloads are written: a regular file gets its name once it is complete.
package final class FileOutput: Sendable {
    private let file: DownloadFile
    /// The option that names the file.
    private let option: String
    private let failure = Mutex<FileError?>(nil)

    private init(_ path: String, _ option: String, _ permissions: UInt16?) throws(FileError) {
        self.option = option
        let paths = try DownloadPaths(destination: path).checked()
        self.file = try DownloadFile.open(paths, permissions: paths.permissions ?? permissions)
        if paths.way == .inPlace { try self.file.truncate(to: 0) }
    }

    /// Opens a destination; a new file gets `permissions`, or 0666 less the umask.
    ///
    /// Errors name the option and the file.
    package static func open(_ path: String, of option: String, permissions: UInt16? = nil) -> Result<
        FileOutput, TextError
    > {
        Result { () throws(FileError) in try FileOutput(path, option, permissions) }
            .mapError { TextError("\(option): \($0)") }
    }

    /// Appends bytes; returns the failure of this write or an earlier one.
    package func write(_ bytes: [UInt8]) -> TextError? {
        self.attempt { () throws(FileError) in try self.file.append(bytes) }
    }

    /// Gives the file its name; returns the failure of that or of an earlier write, and removes what was written.
    package func finish() -> TextError? {
        let error = self.attempt { () throws(FileError) in try self.file.commit() }
        if error != nil { self.discard() }
        return error
    }

    /// Removes what was written, unless it was written in place.
    package func discard() { try? self.file.discard() }

    private func attempt(_ step: () throws(FileError) -> Void) -> TextError? {
        self.failure.withLock { failure in
            if failure == nil { do throws(FileError) { try step() } catch { failure = error } }
            return failure.map { TextError("\(self.option): \($0)") }
        }
    }
}

extension Destination {
    /// The path with these bytes, which need not be UTF-8; its text keeps them.
    package static func path(_ bytes: [UInt8]) -> String { FileLocation.text(of: bytes) }

    /// The descriptor of this process that a path names, as /dev/stdout and /dev/fd/1 do; nil if it names none.
    package static func descriptor(at path: String) -> Int32? { self.paths(to: path)?.destination.ownDescriptor }

    /// True if the path leads to a device, a pipe or a descriptor, which cannot be continued.
    package static func isStream(at path: String) -> Bool { self.paths(to: path)?.way == .stream }

    /// True if the file cannot be replaced, and is written from its start.
    package var isWrittenInPlace: Bool { self.path.flatMap(Self.paths)?.way == .inPlace }

    private static func paths(to path: String) -> DownloadPaths? { try? DownloadPaths(destination: path).checked() }
}
