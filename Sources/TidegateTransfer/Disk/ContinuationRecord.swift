internal import FoundationEssentials
internal import Glibc

/// What `.NAME.tidegate.json` holds: how to continue a download after a crash.
package struct ContinuationRecord: Sendable, Hashable, Codable {
    /// The URL asked for, before redirects.
    package var url: String
    /// The strong entity tag, quotes included.
    package var etag: String?
    /// The Last-Modified date, where it is good enough to continue by.
    package var lastModified: String?
    /// The whole length; nil where unknown.
    package var total: Int64?
    /// How many bytes of the temporary file are known to be durable.
    package var offset: Int64

    package init(url: String, etag: String? = nil, lastModified: String? = nil, total: Int64? = nil, offset: Int64) {
        self.url = url
        self.etag = etag
        self.lastModified = lastModified
        self.total = total
        self.offset = offset
    }

    /// The point to continue from; nil without a validator or without bytes.
    package var resumePoint: ResumePoint? {
        guard self.offset > 0, self.offset <= self.total ?? .max else { return nil }
        if let etag = self.etag {
            return ResumePoint(offset: self.offset, validator: .etag(etag), total: self.total)
        }
        return self.lastModified.map {
            ResumePoint(offset: self.offset, validator: .lastModified($0), total: self.total)
        }
    }

    /// The record beside a destination; nil where there is none or where it makes no sense.
    package static func read(_ paths: DownloadPaths) throws(FileError) -> ContinuationRecord? {
        guard let bytes = try AtomicFile.read(paths.record) else { return nil }
        return try? JSONDecoder().decode(ContinuationRecord.self, from: Data(bytes))
    }

    /// Writes the record so that a reader finds the old one or the new one, never a part.
    ///
    /// Blocks: for the disk thread.
    package func write(_ paths: DownloadPaths) throws(FileError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and numbers always encode; an empty record would only mean a start from 0.
        let bytes = (try? encoder.encode(self)).map { [UInt8]($0) } ?? []
        try AtomicFile.replace(paths.record, with: bytes)
    }

    /// Removes the record, where there is one.
    package static func remove(_ paths: DownloadPaths) throws(FileError) {
        guard unlink(paths.record) == 0 || errno == ENOENT else {
            throw FileError(operation: "unlink", path: paths.record, code: errno)
        }
    }
}
