/// How much of a body is held, and how the server recognises that the rest still belongs to it.
package struct ResumePoint: Sendable, Hashable, Codable {
    /// The bytes held from the body's start; also the position of the next byte wanted.
    package var offset: Int64
    /// The length of the whole body; nil while unknown.
    package var total: Int64?
    private var etag: String?
    private var lastModified: String?
    /// The Content-Encoding of the bytes held; nil if they are the plain ones.
    ///
    /// Ranges count bytes of the encoded body (RFC 9110 section 14.1.2): only the same encoding continues them.
    package var contentEncoding: String?
    /// The fields that tell versions of the body apart, by their names in lower case; nil in data of old versions.
    private var versionFields: [String: String]?

    /// A validator strong enough for If-Range (RFC 9110 section 13.1.5).
    package enum Validator: Sendable, Hashable {
        /// A strong entity tag, quotes included.
        case etag(String)
        /// A Last-Modified date as the server wrote it, at least 60 s older than the response's Date.
        case lastModified(String)

        /// The value of the If-Range field.
        package var fieldValue: String {
            switch self {
            case .etag(let tag): tag
            case .lastModified(let date): date
            }
        }
    }

    /// A point from its parts.
    package init(
        offset: Int64, validator: Validator?, total: Int64? = nil, contentEncoding: String? = nil,
        version: [String: String] = [:]
    ) {
        (self.offset, self.total, self.contentEncoding) = (offset, total, contentEncoding)
        if !version.isEmpty { self.versionFields = version }
        switch validator {
        case .etag(let tag): self.etag = tag
        case .lastModified(let date): self.lastModified = date
        case nil: break
        }
    }

    /// What goes into If-Range; nil if the server gave nothing strong enough, and then no If-Range is sent.
    package var validator: Validator? {
        self.etag.map { .etag($0) } ?? self.lastModified.map { .lastModified($0) }
    }

    /// The known fields that tell versions of the body apart, by their names in lower case.
    ///
    /// Each of them that another response has, too, must be the same in both: ETag and Last-Modified, weak or not, and
    /// the digest of the whole body (RFC 9530).
    package var version: [String: String] {
        self.versionFields ?? ["etag": self.etag, "last-modified": self.lastModified].compactMapValues(\.self)
    }

    /// The names of these fields.
    package static let versionNames: [StaticString] = ["etag", "last-modified", "repr-digest"]

    /// True if a request can continue here: there are bytes, not more than the whole, and a validator.
    ///
    /// With `isVerified`, the digest of the whole body replaces the validator.
    package func isUsable(isVerified: Bool = false) -> Bool {
        self.offset > 0 && self.offset <= self.total ?? .max && (self.validator != nil || isVerified)
    }

    /// True if the request only asks whether the server's body has the length of the bytes held: no byte is wanted.
    package var isWhole: Bool { self.validator == nil && self.offset == self.total }
}

/// What an unfinished download leaves: enough to continue it in this process or another one.
///
/// The bytes themselves are beside the destination, in `.NAME.tidegate`. They are continued only if the server still
/// has the same body; if it has another one, the download starts again.
public struct ResumeData: Sendable, Hashable, Codable {
    /// The URL asked for, before redirects.
    public let url: String
    /// The destination of the finished file.
    public let file: String
    /// How much has arrived.
    package let point: ResumePoint

    /// Data from their parts.
    package init(url: String, file: String, point: ResumePoint) {
        (self.url, self.file, self.point) = (url, file, point)
    }

    private enum CodingKeys: String, CodingKey { case url, file }

    /// Reads the members `url` and `file` and those of the point.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.url = try members.decode(String.self, forKey: .url)
        // The record beside a destination need not name it.
        self.file = try members.decodeIfPresent(String.self, forKey: .file) ?? ""
        self.point = try ResumePoint(from: decoder)
    }

    /// Writes the members `url` and `file` and those of the point.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.url, forKey: .url)
        try members.encode(self.file, forKey: .file)
        try self.point.encode(to: encoder)
    }
}

/// What distinguishes a file from another one at the same path (stat(2)).
package struct FileIdentity: Sendable, Hashable, Codable {
    /// The size in bytes.
    package var size: Int64
    /// The inode's number.
    package var inode: UInt64
    /// When the contents were modified: seconds since 1970.
    package var modifiedSeconds: Int64
    /// And the nanoseconds of that.
    package var modifiedNanoseconds: Int64

    /// An identity from its parts.
    package init(size: Int64, inode: UInt64, modifiedSeconds: Int64, modifiedNanoseconds: Int64) {
        (self.size, self.inode, self.modifiedSeconds) = (size, inode, modifiedSeconds)
        self.modifiedNanoseconds = modifiedNanoseconds
    }

    /// True if the contents can be treated as the same: a copy that was put back keeps only size and time.
    package func hasContents(of other: FileIdentity) -> Bool {
        self.size == other.size && self.modifiedSeconds == other.modifiedSeconds
            && self.modifiedNanoseconds == other.modifiedNanoseconds
    }
}
