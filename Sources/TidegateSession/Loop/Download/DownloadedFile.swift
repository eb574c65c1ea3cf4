internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// The file that a download went to.
package struct DownloadedFile: Sendable {
    /// True if the task was confined to directories, which the file is opened below.
    package let isConfined: Bool
    private let file: FileLocation
    /// The file as it was written; nil if that was not recorded.
    private let written: FileIdentity?

    /// The file of a task of this process or of one in the journal; nil if the task has none.
    init?(_ task: TransferTask?, _ journaled: JournaledTask?) {
        let (request, description) = (task?.request, journaled?.description)
        guard let path = request?.destination.path ?? description?.file else { return nil }
        let directories = (request?.options ?? description?.options)?.confinedTo
        self.isConfined = directories != nil
        self.file = FileLocation(path, below: directories)
        self.written = journaled?.placing
    }

    /// Opens the file; each call of the result returns the next 64 KiB at most, and nothing at the end.
    ///
    /// - Throws: An error that names the file, also if it has changed since it was written.
    package func open() throws -> @Sendable () throws -> [UInt8] {
        let identity = try FileIdentity.of(self.file)
        guard self.written.map(identity.hasContents) ?? true else {
            throw FileError(operation: "changed after the task had written it", path: self.file.path, code: 0)
        }
        let body = Mutex(try BodyFile(self.file, identity))
        return { try body.withLock { try $0.read(upTo: 64 << 10) } }
    }
}
