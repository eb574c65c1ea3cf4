internal import FoundationEssentials
internal import Glibc
package import TidegateCore

// The record beside a destination, `.NAME.tidegate.json`: how another process continues the download.
extension DownloadPaths {
    /// The record; nil if there is none, or if it is damaged.
    package func readRecord() throws(FileError) -> ResumeData? {
        guard let bytes = try AtomicFile.read(self.record) else { return nil }
        return try? JSONDecoder().decode(ResumeData.self, from: Data(bytes))
    }

    /// Writes the record so that a reader finds the old one or the new one, never a part.
    ///
    /// Blocks: for the disk thread.
    package func writeRecord(url: String, _ point: ResumePoint) throws(FileError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = ResumeData(url: url, file: self.destination.path, point: point)
        // Strings and numbers always encode; an empty record would only mean a start from 0.
        let bytes = (try? encoder.encode(data)).map { [UInt8]($0) } ?? []
        try AtomicFile.replace(self.record, with: bytes)
    }

    /// Removes the record, if there is one.
    package func removeRecord() throws(FileError) {
        guard self.record.unlink() == 0 || errno == ENOENT else {
            throw FileError(operation: "unlink", path: self.record.path, code: errno)
        }
    }
}
