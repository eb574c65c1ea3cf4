public import HTTPTypes
internal import TidegateCore

/// The content of a part in a multipart form.
public enum MultipartContent: Sendable {
    /// These bytes.
    case data([UInt8])
    /// The bytes of the regular file at this path, read during sending; the file must not change until then.
    case file(String)
    /// The chunks that the closure returns, nil after the last one; without a length, the whole form has none.
    case stream(length: Int64? = nil, next: @Sendable () async throws -> [UInt8]?)
}

/// A form of several parts (RFC 7578): `multipart/form-data`.
public struct MultipartForm: Sendable {
    /// The separator of the parts.
    public let boundary: String

    /// The largest piece sent at a time, and the interval between pieces; nil sends as fast as possible.
    package private(set) var throttle: (bytes: Int, interval: Duration)?
    package private(set) var parts: [Part] = []

    /// A part as added, for code that describes the form.
    package struct Part: Sendable {
        /// The field's name; nil if the caller provided the whole head.
        package var name: String?
        /// The file name, which may differ from that of ``content``.
        package var fileName: String?
        /// The content type to send; nil for none.
        package var contentType: String?
        /// The content to send.
        package let content: MultipartContent
        fileprivate let head: [UInt8]
    }

    /// A form without parts, with a boundary of 64 random bits.
    public init(generator: some RandomNumberGenerator = SystemRandomNumberGenerator()) {
        var generator = generator
        let halves = (0..<2).map { _ in String(UInt32.random(in: 0...UInt32.max, using: &generator), radix: 16) }
        self.boundary = "Boundary+" + halves.map { $0.uppercased().padded(to: 8) }.joined()
    }

    /// The request's content type, with the boundary.
    public var contentType: String { "multipart/form-data; boundary=\(self.boundary)" }

    /// Sends the body in pieces of at most `bytes`, one per `interval`.
    ///
    /// The defaults are AFNetworking's for slow mobile networks, 80 KiB/s.
    public mutating func throttle(bytes: Int = 16 * 1024, every interval: Duration = .milliseconds(200)) {
        self.throttle = (max(1, bytes), interval)
    }

    /// Adds a part.
    ///
    /// Without a `fileName`, a file uses its own name, and other content has none. Without a `contentType`, a part with
    /// a file name uses the type of its extension, and other parts have none. Names are quoted as in browsers (WHATWG
    /// HTML, "multipart form data"): a quotation mark becomes `%22`, and a line break `%0D%0A`.
    public mutating func append(
        _ content: MultipartContent, name: String, fileName: String? = nil, contentType: String? = nil
    ) {
        var fileName = fileName
        if case .file(let path) = content, fileName == nil {
            fileName = path.split(separator: "/").last.map(String.init) ?? path
        }
        self.append(content, name, fileName, contentType ?? fileName.map(MultipartForm.type))
    }

    /// Adds a part with the bytes of a file as plain text rather than as a file.
    package mutating func append(contentsOf path: String, name: String, contentType: String? = nil) {
        self.append(.file(path), name, nil, contentType)
    }

    private mutating func append(
        _ content: MultipartContent, _ name: String, _ fileName: String?, _ contentType: String?
    ) {
        var disposition = "form-data; name=\"\(MultipartForm.quoted(MultipartForm.withCRLF(name)))\""
        if let fileName { disposition += "; filename=\"\(MultipartForm.quoted(fileName))\"" }
        var head = "Content-Disposition: \(disposition)\r\n"
        if let contentType { head += "Content-Type: \(MultipartForm.quoted(contentType))\r\n" }
        self.parts.append(
            Part(name: name, fileName: fileName, contentType: contentType, content: content, head: Array(head.utf8)))
    }

    /// Adds a part with the caller's own header fields.
    public mutating func append(_ content: MultipartContent, headers: [HTTPField]) {
        let head = headers.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
        self.parts.append(Part(content: content, head: Array(head.utf8)))
    }

    /// Adds a part for each parameter, named as in a query; bytes are sent unchanged, and nil as an empty part.
    ///
    /// - Throws: ``RequestSerializationError``.
    public mutating func append(
        parameters: any Encodable, encoding: QueryEncoding = QueryEncoding()
    ) throws(RequestSerializationError) {
        for pair in try encoding.pairs(of: parameters) {
            switch pair.value {
            case .none: self.append(.data([]), name: pair.name)
            case .text(let text): self.append(.data(Array(text.utf8)), name: pair.name)
            case .data(let data): self.append(.data(Array(data)), name: pair.name)
            }
        }
    }

    /// True if the body can be sent again, because it contains no stream.
    package var isRepeatable: Bool {
        self.parts.allSatisfy { if case .stream = $0.content { false } else { true } }
    }

    /// The body to send: boundaries and heads of parts as data, with adjacent data joined.
    package var contents: [MultipartContent] {
        var contents: [MultipartContent] = []
        var data: [UInt8] = []
        let separator = Array("\r\n--\(self.boundary)\r\n".utf8)
        for (index, part) in self.parts.enumerated() {
            data += index == 0 ? separator.dropFirst(2) : separator[...]
            data += part.head
            data += [13, 10]
            if case .data(let bytes) = part.content {
                data += bytes
            } else {
                contents += [.data(data), part.content]
                data = []
            }
        }
        let end = "\(self.parts.isEmpty ? "" : "\r\n")--\(self.boundary)--\r\n"
        return contents + [.data(data + Array(end.utf8))]
    }

    // A field's name is normalized before; a file's name is not.
    private static func withCRLF(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == 13 || $0 == 10 }) else { return name }
        var text = ""
        for character in name {
            text += character == "\r" || character == "\n" ? "\r\n" : String(character)
        }
        return text
    }

    private static func quoted(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == 13 || $0 == 10 || $0 == UInt8(ascii: "\"") }) else { return name }
        return name.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\"": text += "%22"
            case "\r": text += "%0D"
            case "\n": text += "%0A"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    // Content types by file extension.
    private static let types = [
        "avif": "image/avif", "bmp": "image/bmp", "bz2": "application/x-bzip2", "css": "text/css", "csv": "text/csv",
        "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "htm": "text/html", "html": "text/html",
        "ico": "image/x-icon", "ics": "text/calendar", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "m4a": "audio/mp4", "md": "text/markdown",
        "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "ogg": "audio/ogg",
        "pdf": "application/pdf", "plist": "application/x-plist", "png": "image/png", "rtf": "application/rtf",
        "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff",
        "ttf": "font/ttf", "txt": "text/plain", "wasm": "application/wasm", "wav": "audio/wav",
        "webm": "video/webm", "webp": "image/webp", "woff2": "font/woff2", "xml": "application/xml",
        "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
    ]

    /// The content type for a file name; `application/octet-stream` for an unknown extension.
    private static func type(ofFile name: String) -> String {
        guard let dot = name.lastIndex(of: ".") else { return "application/octet-stream" }
        return self.types[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }
}
