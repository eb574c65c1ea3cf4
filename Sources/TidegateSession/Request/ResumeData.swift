public import HTTPTypes
public import TidegateCore
internal import TidegateTransfer

/// What a cancelled or failed download leaves: enough to go on where it ended, in this process or another one.
///
/// The bytes themselves are beside the destination, in `.NAME.tidegate`. They are continued only where the server
/// still has the same body; where it has another one, the download starts again.
public struct ResumeData: Sendable, Hashable, Codable {
    /// The URL asked for, before redirects.
    public let url: String
    /// Where the finished file is to be.
    public let file: String
    /// How many bytes are there.
    public let offset: Int64
    /// The whole body; nil where it is unknown.
    public let total: Int64?
    private let etag: String?
    private let lastModified: String?

    init?(url: String, file: String, _ point: ResumePoint) {
        switch point.validator {
        case .etag(let tag): (self.etag, self.lastModified) = (tag, nil)
        case .lastModified(let date): (self.etag, self.lastModified) = (nil, date)
        case .digest: return nil
        }
        self.url = url
        self.file = file
        self.offset = point.offset
        self.total = point.total
    }

    /// The point to go on from; nil where the values contradict each other.
    var point: ResumePoint? {
        guard self.offset > 0, self.offset <= self.total ?? .max else { return nil }
        if let etag = self.etag {
            return ResumePoint(offset: self.offset, validator: .etag(etag), total: self.total)
        }
        return self.lastModified.map {
            ResumePoint(offset: self.offset, validator: .lastModified($0), total: self.total)
        }
    }
}

extension TaskRequest {
    /// Makes the download go on where an earlier one ended.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` where the data belong to another URL or another file,
    ///   make no sense, or the request is no plain GET of a file.
    public mutating func resume(from data: ResumeData) throws(TaskError) {
        guard case .file(let path, let permissions, _) = self.destination, self.method == "GET", self.body == .none,
            !self.acceptsCompression
        else { throw TaskRequest.invalid("only a download by GET can be resumed") }
        guard data.url == self.address.text else {
            throw TaskRequest.invalid("the resume data belong to \(data.url) and not to \(self.address.text)")
        }
        guard data.file == path else {
            throw TaskRequest.invalid("the resume data belong to \(data.file) and not to \(path)")
        }
        guard data.point != nil else { throw TaskRequest.invalid("the resume data make no sense") }
        self.destination = .file(path, permissions: permissions, continues: true)
        self.resuming = data
    }

    /// The request that goes on where an earlier download ended.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` where the data make no sense.
    public init(resuming data: ResumeData, headers: [HTTPField] = []) throws(TaskError) {
        try self.init(url: data.url, headers: headers)
        self.destination = .file(data.file)
        try self.resume(from: data)
    }
}
